//! `paused: "true"`: nothing new starts.

use anyhow::{Context as _, ensure};

use super::scene::{Scene, Stage, condition};

pub(super) async fn paused_rollout_finishes_current_replica_and_resumes(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "stopped-paused", 3).await?;
    let begun = scene.mark().await?;
    stage.barriers.hold_claim(&scene.namespace, "data-web-1");
    scene.apply(3, "2Gi").await?;
    let held = stage.barriers.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    let pause = |value: &'static str| ["annotate", "statefulset", "web", value, "--overwrite"];
    scene.done(&pause("claim-rollout.io/paused=true"), "").await?;
    stage.barriers.open(&scene.namespace);
    let rollout = scene
        .until_reported("the pause", |rollout| {
            rollout["status"]["conditions"][1]["reason"] == "Paused" && rollout["status"]["readyReplicas"] == 2
        })
        .await?;
    ensure!(condition(&rollout, "Reconciling") == "True", "{rollout:#}");
    let waiting = &rollout["status"]["claims"];
    ensure!(
        waiting[0]["name"] == "data-web-0" && waiting[0]["reason"] == "Paused" && waiting[1].is_null(),
        "{rollout:#}"
    );
    // Unrelated changes.
    scene.done(&["label", "pvc", "data-web-0", "team=storage"], "").await?;
    scene.done(&["label", "statefulset", "web", "team=storage"], "").await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let count = scene.writes_since(begun).await?.count();
    ensure!(
        count.claims == ["data-web-2", "data-web-1"] && count.changes == 0,
        "{count:?}"
    );

    scene.done(&pause("claim-rollout.io/paused-"), "").await?;
    scene.until_complete(3, "2Gi").await?;
    let written = scene.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}
