//! The StatefulSet is scaled during its rollout; for scaling up see `beside`.

use anyhow::{Context as _, ensure};

use super::scene::{Scene, Stage, condition};

/// A StatefulSet of three that is scaled to this number of replicas, when two of them are updated or about to be.
async fn scaled_in_the_middle<'a>(stage: &'a Stage, namespace: &str, replicas: &str) -> anyhow::Result<Scene<'a>> {
    let scene = Scene::with_set(stage, namespace, 3).await?;
    stage.barriers.hold_claim(namespace, "data-web-1");
    scene.apply(3, "2Gi").await?;
    let held = stage.barriers.until_held(namespace).await;
    held.with_context(|| scene.log())?;
    scale(&scene, replicas).await?;
    stage.barriers.open(namespace);
    Ok(scene)
}

async fn scale(scene: &Scene<'_>, replicas: &str) -> anyhow::Result<()> {
    let replicas = format!("--replicas={replicas}");
    scene.done(&["scale", "statefulset", "web", &replicas], "").await?;
    Ok(())
}

pub(super) async fn removed_replica_is_left_alone_until_it_is_back(stage: &Stage) -> anyhow::Result<()> {
    let scene = scaled_in_the_middle(stage, "stopped-down", "1").await?;
    scene
        .until_reported("one replica", |rollout| {
            let status = &rollout["status"];
            condition(rollout, "Ready") == "True" && status["replicas"] == 1 && status["readyReplicas"] == 1
        })
        .await?;
    let written = scene.writes_since(0).await?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 0)?;
    scale(&scene, "3").await?;
    scene.until_ready(3).await?;
    scene.until_complete(3, "2Gi").await?;
    let again = scene.writes_since(0).await?.count();
    ensure!(
        again.claims == written.count().claims && again.changes == 1,
        "{again:?}"
    );
    Ok(())
}

pub(super) async fn without_replicas_complete_and_continued_after_scale_up(stage: &Stage) -> anyhow::Result<()> {
    let scene = scaled_in_the_middle(stage, "stopped-to-zero", "0").await?;
    scene
        .until_reported("no replica", |rollout| {
            condition(rollout, "Ready") == "True" && rollout["status"]["replicas"] == 0
        })
        .await?;
    ensure!(scene.staged_change().await?["phase"] == "Complete", "{}", scene.log());
    scale(&scene, "3").await?;
    scene.until_ready(3).await?;
    scene.until_complete(3, "2Gi").await?;
    let again = scene.writes_since(0).await?.count();
    // The write of the second and the third PVC may have been in progress: each was made once, before or after.
    let mut claims = again.claims.clone();
    claims.sort();
    let expected = ["data-web-0", "data-web-1", "data-web-2"];
    ensure!(
        again.claims[0] == "data-web-2" && claims == expected && again.changes == 1,
        "{again:?}"
    );
    Ok(())
}
