//! A partition: the ordinals below it are left alone until it is lowered.

use anyhow::ensure;

use super::scene::{Scene, Stage, condition, manifest, with_image, with_partition};

pub(super) async fn canary_and_then_other_pods_wait_for_their_claims(stage: &Stage) -> anyhow::Result<()> {
    let before = with_partition(&manifest(3, "1Gi"), 2);
    let scene = Scene::with(stage, "canary", &before).await?;
    let (begun, pods) = (scene.mark().await?, scene.pods().await?);
    let both = |partition| with_partition(&with_image(&manifest(3, "2Gi"), "2"), partition);
    scene.target(&both(2)).await?;
    let partitioned = |ready: u64| {
        move |rollout: &serde_json::Value| {
            let condition = &rollout["status"]["conditions"][1];
            condition["reason"] == "Partitioned" && rollout["status"]["readyReplicas"] == ready
        }
    };
    scene.until_reported("the canary", partitioned(1)).await?;
    scene.until_updated(1).await?;
    let set = scene.settled().await?;
    ensure!(scene.staged_change().await?["phase"] == "RollingOut", "{set:#}");
    ensure!(scene.pods().await?[..2] == pods[..2], "only the canary restarts");
    let written = scene.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2])?;
    ensure!(written.count().claims == ["data-web-2"], "{written:?}");

    scene.target(&both(0)).await?;
    scene.until_complete(3, "2Gi").await?;
    scene.settled().await?;
    let written = scene.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.is_a_rollout(&claims, 3)
}

pub(super) async fn replica_below_partition_is_left_alone_until_lowered(stage: &Stage) -> anyhow::Result<()> {
    let of = |size: &str, partition| with_partition(&manifest(3, size), partition);
    let scene = Scene::with(stage, "partition", &of("1Gi", 1)).await?;
    let (begun, pods) = (scene.mark().await?, scene.pods().await?);
    scene.target(&of("2Gi", 1)).await?;
    let rollout = scene
        .until_reported("two of three", |rollout| {
            rollout["status"]["conditions"][1]["reason"] == "Partitioned"
        })
        .await?;
    let waiting = &rollout["status"]["claims"];
    ensure!(
        waiting[0]["name"] == "data-web-0" && waiting[0]["reason"] == "Partition" && waiting[1].is_null(),
        "{rollout:#}"
    );
    ensure!(condition(&rollout, "Ready") == "False", "{rollout:#}");
    ensure!(scene.staged_change().await?["phase"] == "RollingOut", "{rollout:#}");
    let count = scene.writes_since(begun).await?.count();
    ensure!(
        count.claims == ["data-web-2", "data-web-1"] && count.changes == 0,
        "{count:?}"
    );

    scene.target(&of("2Gi", 0)).await?;
    scene.until_complete(3, "2Gi").await?;
    scene.settled().await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let written = scene.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}
