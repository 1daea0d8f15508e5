//! Templates grow, and the PVCs follow.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::json;

use super::held::held_at;
use crate::world::namespace::{condition, label, text};
use crate::world::web::Web;
use crate::world::{World, until};

pub(super) async fn three_claims_grow_highest_ordinal_first_without_restart(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("grow", 3).await?;
    let (pods, set) = (ns.pods().await?, ns.set().await?);
    let output = ns.apply(3, "2Gi").await?;
    let warning = "Warning: claim-rollout: staged data 1Gi -> 2Gi; 3 PVCs will be updated in place, highest ordinal first \
                   (kubectl claim-rollout status web -n grow)\n";
    ensure!(output.stderr == warning, "{output:?}");
    ns.until_complete(3, "2Gi").await?;

    let after = ns.set().await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(
        after["metadata"]["generation"] == set["metadata"]["generation"],
        "{after:#}"
    );
    ensure!(
        after["spec"] == set["spec"],
        "the live templates are as they were: {after:#}"
    );
    ensure!(
        after["status"]["updateRevision"] == set["status"]["updateRevision"],
        "{after:#}"
    );
    let written = ns.writes_since(0).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)?;

    let rollout = ns.rollout().await?;
    let status = &rollout["status"];
    let counters = ["replicas", "currentReplicas", "updatedReplicas", "readyReplicas"].map(|key| &status[key]);
    ensure!(counters == [&json!(3), &json!(0), &json!(3), &json!(3)], "{rollout:#}");
    let by_template = json!([{
        "templateName": "data", "updatedReplicas": 3, "readyReplicas": 3, "compatibleReplicas": 3,
        "compatibleReadyReplicas": 3, "finishedReconciliationGeneration": 1,
    }]);
    ensure!(
        status["volumeClaimTemplates"] == by_template && status["claims"] == json!([]),
        "{rollout:#}"
    );
    ensure!(status["currentRevision"] == status["updateRevision"], "{rollout:#}");

    let expected = [
        ("ClaimsStaged", 1),
        ("ClaimUpdated", 3),
        ("ClaimReady", 3),
        ("ClaimRolloutComplete", 1),
    ];
    let expected: BTreeMap<String, usize> = expected
        .into_iter()
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect();
    until("the Events", async || ns.events().await, |events| *events == expected)
        .await
        .map(drop)
}

pub(super) async fn second_target_during_rollout_of_first_is_reached(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-again", 3).await?;
    let (pods, generation) = (ns.pods().await?, ns.set().await?["metadata"]["generation"].clone());
    held_at(env, &ns, "data-web-1", &Web::replicas(3).size("2Gi")).await?;
    let output = ns.apply(3, "3Gi").await?;
    ensure!(output.stderr.contains("staged data 2Gi -> 3Gi"), "{output:?}");
    env.barriers.open(&ns.namespace);
    ns.until_complete(3, "3Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(
        ns.set().await?["metadata"]["generation"] == generation,
        "the generation moved"
    );

    // The second target came while the second PVC was written for the first: the rollout starts anew, with that PVC if
    // the driver still works on it, and the third PVC never gets the first target.
    let count = ns.writes_since(0).await?.count();
    let (first, second) = (["data-web-2", "data-web-1"], ["data-web-1", "data-web-2"]);
    let expected = [first, second].map(|next| [&first[..], &next, &["data-web-0"]].concat());
    ensure!(
        expected.iter().any(|expected| count.claims == *expected) && count.changes == 1,
        "{count:?}"
    );
    ensure!(ns.rollout().await?["metadata"]["generation"] == 2, "two targets");
    Ok(())
}

/// A user has made the PVC larger than the target.
pub(super) async fn claim_larger_than_target_keeps_its_size(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("larger", 2).await?;
    let begun = ns.mark().await?;
    let more = r#"{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#;
    ns.typed(&format!("patch pvc data-web-1 --patch '{more}'")).await?;
    ns.until_all("the claim to grow", "pvc", |claims| {
        claims[1]["status"]["capacity"]["storage"] == "3Gi"
    })
    .await?;
    ns.apply(2, "2Gi").await?;
    ns.until_reported("the end", |rollout| condition(rollout, "Ready") == "True")
        .await?;
    let claims = ns.claims().await?;
    let found: Vec<_> = claims
        .iter()
        .map(|claim| {
            let label = text(&claim["metadata"]["labels"]["claim-rollout.io/revision"]);
            (text(&claim["status"]["capacity"]["storage"]), label)
        })
        .collect();
    let label = label(&ns.staged_change().await?);
    let expected = ["2Gi", "3Gi"].map(|size| (size.to_owned(), label.clone()));
    ensure!(found == expected, "{found:?}");
    let written = ns.writes_since(begun).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}
