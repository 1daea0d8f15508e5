//! Other requests of users for a StatefulSet during its rollout.

use anyhow::ensure;
use serde_json::Value;

use crate::world::World;
use crate::world::namespace::{TestNamespace, condition, label, staged_change, text};

/// The staged change without its phase.
async fn target(ns: &TestNamespace<'_>) -> anyhow::Result<Value> {
    let mut change = staged_change(&ns.set().await?)?;
    change["phase"].take();
    Ok(change)
}

pub(super) async fn scale_and_label_during_rollout_keep_the_staged_change(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-beside", 2).await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-0");
    ns.apply(2, "2Gi").await?;
    env.barriers.until_held(&ns.namespace).await?;
    let desired = target(&ns).await?;
    ensure!(!desired["revision"].is_null(), "nothing was staged: {desired}");
    for edit in [
        &["scale", "statefulset", "web", "--replicas=3"][..],
        &["label", "statefulset", "web", "team=storage"],
        &["annotate", "statefulset", "web", "example.com/note=hello"],
        &["annotate", "statefulset", "web", "claim-rollout.io/staged-"],
    ] {
        let output = ns.done(edit, "").await?;
        ensure!(!output.stderr.contains("claim-rollout"), "{output:?}");
        ensure!(
            target(&ns).await? == desired,
            "{edit:?}: {:#}",
            ns.staged_change().await?
        );
    }
    ensure!(
        ns.staged_change().await?["phase"] == "RollingOut",
        "the rollout is still under way"
    );
    env.barriers.open(&ns.namespace);
    ns.until_complete(3, "2Gi").await?;
    ensure!(target(&ns).await? == desired, "{:#}", ns.staged_change().await?);

    // After the end: a new PVC is created from the desired template, and nothing is left to do.
    let before = ns.writes_since(0).await?;
    ns.typed("scale statefulset web --replicas=4").await?;
    ns.until_ready(4).await?;
    ns.until_complete(4, "2Gi").await?;
    let after = ns.writes_since(0).await?.count();
    ensure!(
        (&after.claims, after.changes) == (&before.count().claims, 1),
        "{after:?}"
    );
    // The third PVC was created during the rollout.
    before.is_a_rollout(&["data-web-1", "data-web-0"], 0)
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
