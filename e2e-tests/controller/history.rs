//! The history of targets, in ControllerRevisions.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::{Value, json};

use super::Stage;
use crate::cluster::eventually;
use crate::scenarios::scene::{PATIENCE, Scene, manifest, text};

/// A StatefulSet that keeps three revisions, and whose selector matches all objects without a certain label: our
/// ControllerRevisions too.
fn greedy(size: &str) -> String {
    let greedy = "selector:
    matchExpressions:
    - {key: nobody-has-this, operator: DoesNotExist}";
    manifest(1, size)
        .replace("selector:\n    matchLabels: {app: web}", greedy)
        .replace("spec:\n  replicas", "spec:\n  revisionHistoryLimit: 3\n  replicas")
}

/// The owner of a ControllerRevision, its number, and the storage in its templates; for revisions of the StatefulSet
/// the image of its Pod template.
type Kept = (String, i64, Value);

async fn kept(scene: &Scene<'_>) -> anyhow::Result<BTreeMap<String, Kept>> {
    let list = scene.done(&["get", "controllerrevisions", "-o", "json"], "").await?;
    let list: Value = serde_json::from_str(&list.stdout)?;
    let items = list["items"].as_array().into_iter().flatten();
    let kept = items.map(|item| {
        let owner = &item["metadata"]["ownerReferences"][0];
        ensure!(owner["controller"] == true, "{item:#}");
        let storage = &item["data"]["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
        let kept = (
            text(&owner["kind"]),
            item["revision"].as_i64().unwrap_or_default(),
            storage.clone(),
        );
        Ok((text(&item["metadata"]["name"]), kept))
    });
    kept.collect()
}

pub(super) async fn every_target_is_kept_and_not_adopted_by_a_statefulset(stage: &Stage) -> anyhow::Result<()> {
    let scene = stage.scene("history").await?;
    scene.done(&["apply", "-f", "-"], &greedy("1Gi")).await?;
    scene.until_ready(1).await?;
    let own = kept(&scene).await?;
    ensure!(own.len() == 1, "{own:?}");
    let revisions = |set: &Value| json!([set["status"]["currentRevision"], set["status"]["updateRevision"]]);
    let (before, pods) = (revisions(&scene.set().await?), scene.pods().await?);

    let mut names = Vec::new();
    let sizes = ["2Gi", "3Gi", "4Gi", "5Gi"];
    for size in sizes {
        scene.done(&["apply", "-f", "-"], &greedy(size)).await?;
        scene.until_complete(1, size).await?;
        names.push(format!(
            "web-claims-{}",
            text(&scene.staged_change().await?["revision"])
        ));
    }
    let target = |number: usize| ("ClaimRollout".to_owned(), number as i64 + 1, json!(sizes[number]));
    let mut expected = own.clone();
    expected.extend((1..4).map(|number| (names[number].clone(), target(number))));
    let found = kept(&scene).await?;
    ensure!(
        found == expected,
        "expected the last three, but found {found:#?}\n{}",
        scene.log()
    );

    let latest = scene
        .done(&["get", "controllerrevision", &names[3], "-o", "json"], "")
        .await?;
    let latest: Value = serde_json::from_str(&latest.stdout)?;
    let annotations = &latest["metadata"]["annotations"];
    ensure!(
        *annotations
            == json!({"claim-rollout.io/by": "admin", "claim-rollout.io/manager": "kubectl-client-side-apply"}),
        "{annotations}"
    );

    // A target that comes again gets a new number and is the latest.
    let tier = greedy("5Gi").replace("metadata: {name: data}", "metadata: {name: data, labels: {tier: a}}");
    for (manifest, number) in [(tier, 5), (greedy("5Gi"), 6)] {
        scene.done(&["apply", "-f", "-"], &manifest).await?;
        scene.until_complete(1, "5Gi").await?;
        let name = format!("web-claims-{}", text(&scene.staged_change().await?["revision"]));
        let found = kept(&scene).await?;
        ensure!(
            found.get(&name).is_some_and(|kept| kept.1 == number),
            "{name}: {found:#?}"
        );
        let targets = found.values().filter(|kept| kept.0 == "ClaimRollout").count();
        ensure!(targets == 3, "{found:#?}");
    }

    let set = scene.settled().await?;
    ensure!(revisions(&set) == before, "the set has other revisions: {set:#}");
    ensure!(scene.pods().await? == pods, "a Pod was replaced");

    scene.done(&["delete", "statefulset", "web"], "").await?;
    eventually("the history to go with the set", PATIENCE, async || {
        Ok(kept(&scene).await?.is_empty().then_some(()))
    })
    .await
}
