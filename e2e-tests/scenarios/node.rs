//! The last part of an expansion is the node's: the file system.

use anyhow::ensure;
use serde_json::{Value, json};

use super::scene::{Scene, Stage, manifest, with_class, with_image};
use crate::cluster::Driver;

/// A set of two whose volumes wait for the node.
async fn scene<'a>(stage: &'a Stage, namespace: &str) -> anyhow::Result<Scene<'a>> {
    let mut scene = Scene::new(&stage.cluster, &stage.client, namespace).await?;
    let driver = Driver {
        node_expansion_required: true,
        ..Driver::default()
    };
    scene.make_class(&driver, true).await?;
    scene.start_controller(stage, &[]).await?;
    scene.wish(&with_class(&manifest(2, "1Gi"), namespace)).await?;
    scene.settled().await?;
    Ok(scene)
}

/// What the kubelet writes when it has grown the file system.
async fn grow_file_system(scene: &Scene<'_>, claim: &str) -> anyhow::Result<()> {
    let status = json!({"status": {
        "capacity": {"storage": "2Gi"}, "conditions": null, "allocatedResourceStatuses": null,
    }});
    let patch = ["--subresource=status", "--type=merge", "--patch", &status.to_string()];
    scene.done(&[&["patch", "pvc", claim][..], &patch].concat(), "").await?;
    Ok(())
}

/// The first claim that is not done waits for the node.
fn waits_for_node(claim: &str) -> impl Fn(&Value) -> bool {
    move |rollout| {
        let first = &rollout["status"]["claims"][0];
        let found = [&first["name"], &first["state"], &first["reason"]];
        found
            == [
                &json!(claim),
                &json!("NodeExpanding"),
                &json!("FileSystemResizePending"),
            ]
    }
}

pub(super) async fn a_claim_whose_file_system_has_not_grown_keeps_the_next_one_waiting(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = scene(stage, "node").await?;
    let (begun, pods) = (scene.mark().await?, scene.pods().await?);
    scene.wish(&with_class(&manifest(2, "2Gi"), "node")).await?;
    for (claim, so_far) in [
        ("data-web-1", &["data-web-1"][..]),
        ("data-web-0", &["data-web-1", "data-web-0"][..]),
    ] {
        let rollout = scene.until_reported("the node's turn", waits_for_node(claim)).await?;
        let stalled = &rollout["status"]["conditions"][2];
        ensure!(stalled["status"] == "False", "it is progress: {rollout:#}");
        let count = scene.writes_since(begun).await?.count();
        ensure!(count.claims == so_far && count.records == 0, "{count:?}");
        grow_file_system(&scene, claim).await?;
    }
    scene.until_complete(2, "2Gi").await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let written = scene.writes_since(begun).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// Some drivers finish only when the volume is mounted again: to wait for that before the Pod goes would be for ever.
pub(super) async fn where_pods_are_replaced_anyway_the_pod_goes_first_and_the_next_claim_waits_for_the_node(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = scene(stage, "node-pods").await?;
    let begun = scene.mark().await?;
    let both = with_image(&with_class(&manifest(2, "2Gi"), "node-pods"), "2");
    scene.wish(&both).await?;
    for (claim, ready) in [("data-web-1", 1), ("data-web-0", 2)] {
        scene.until_reported("the node's turn", waits_for_node(claim)).await?;
        scene.until_updated(ready).await?;
        let count = scene.writes_since(begun).await?.count();
        ensure!(count.claims.len() == ready && count.nudges <= ready, "{count:?}");
        grow_file_system(&scene, claim).await?;
    }
    scene.until_complete(2, "2Gi").await?;
    scene.settled().await?;
    let written = scene.writes_since(begun).await?;
    let last = written.ready("data-web-1")?;
    ensure!(last < written.applied("data-web-0")?, "the next one did not wait");
    written.is_a_rollout(&["data-web-1", "data-web-0"], 2)
}
