//! `updateStrategy: OnDelete`: Pods are deleted by hand, and claims follow them.

use std::time::Duration;

use anyhow::ensure;

use super::scene::{Scene, Stage, manifest, with_image, with_spec};

pub(super) async fn a_claim_follows_when_its_pod_was_deleted_by_hand_and_not_before(
    stage: &Stage,
) -> anyhow::Result<()> {
    let of = |size: &str| with_spec(&manifest(3, size), "  updateStrategy: {type: OnDelete}");
    let scene = Scene::with(stage, "on-delete", &of("1Gi")).await?;
    let begun = scene.mark().await?;
    let output = scene.wish(&with_image(&of("2Gi"), "2")).await?;
    ensure!(output.stderr.contains("staged data 1Gi -> 2Gi"), "{output:?}");
    let mut so_far = Vec::new();
    // In any order.
    for ordinal in [1, 2, 0] {
        scene
            .until_reported("a Pod to be deleted", |rollout| {
                let status = &rollout["status"];
                status["conditions"][1]["reason"] == "OnDelete" && status["readyReplicas"] == so_far.len()
            })
            .await?;
        let count = scene.writes_since(begun).await?.count();
        ensure!(count.claims == so_far && count.records == 0, "{count:?}");
        if so_far.is_empty() {
            // A Pod made in the second in which the wish was first seen could be an older one.
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
        scene.done(&["delete", "pod", &format!("web-{ordinal}")], "").await?;
        so_far.push(format!("data-web-{ordinal}"));
    }
    scene.until_complete(3, "2Gi").await?;
    scene.until_updated(3).await?;
    let written = scene.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-2", "data-web-0"], 0)
}
