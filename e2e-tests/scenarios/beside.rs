//! Other requests of users for a StatefulSet during its rollout.

use anyhow::ensure;
use serde_json::Value;

use super::scene::{PATIENCE, Scene, Stage, condition, staged_change, text};
use crate::cluster::eventually;

/// The staged change without its phase.
async fn target(scene: &Scene<'_>) -> anyhow::Result<Value> {
    let mut change = staged_change(&scene.set().await?)?;
    change["phase"].take();
    Ok(change)
}

pub(super) async fn scale_and_label_during_rollout_keep_the_staged_change(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "stopped-beside", 2).await?;
    stage.barriers.hold_claim(&scene.namespace, "data-web-0");
    scene.apply(2, "2Gi").await?;
    stage.barriers.until_held(&scene.namespace).await?;
    let desired = target(&scene).await?;
    ensure!(!desired["revision"].is_null(), "nothing was staged: {desired}");
    for edit in [
        &["scale", "statefulset", "web", "--replicas=3"][..],
        &["label", "statefulset", "web", "team=storage"],
        &["annotate", "statefulset", "web", "example.com/note=hello"],
        &["annotate", "statefulset", "web", "claim-rollout.io/staged-"],
    ] {
        let output = scene.done(edit, "").await?;
        ensure!(!output.stderr.contains("claim-rollout"), "{output:?}");
        ensure!(
            target(&scene).await? == desired,
            "{edit:?}: {:#}",
            scene.staged_change().await?
        );
    }
    ensure!(
        scene.staged_change().await?["phase"] == "RollingOut",
        "the rollout is still under way"
    );
    stage.barriers.open(&scene.namespace);
    scene.until_complete(3, "2Gi").await?;
    ensure!(target(&scene).await? == desired, "{:#}", scene.staged_change().await?);

    // After the end: a new PVC is created from the desired template, and nothing is left to do.
    let before = scene.writes_since(0).await?;
    scene.done(&["scale", "statefulset", "web", "--replicas=4"], "").await?;
    scene.until_ready(4).await?;
    scene.until_complete(4, "2Gi").await?;
    let after = scene.writes_since(0).await?.count();
    ensure!(
        (&after.claims, after.changes) == (&before.count().claims, 1),
        "{after:?}"
    );
    // The third PVC was created during the rollout.
    before.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// A user has made the PVC larger than the target.
pub(super) async fn claim_larger_than_target_keeps_its_size(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "larger", 2).await?;
    let begun = scene.mark().await?;
    let more = r#"{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}"#;
    scene.done(&["patch", "pvc", "data-web-1", "--patch", more], "").await?;
    let grown = eventually("the claim to grow", PATIENCE, async || {
        Ok((scene.claims().await?[1]["status"]["capacity"]["storage"] == "3Gi").then_some(()))
    });
    grown.await?;
    scene.apply(2, "2Gi").await?;
    scene
        .until_reported("the end", |rollout| condition(rollout, "Ready") == "True")
        .await?;
    let claims = scene.claims().await?;
    let found: Vec<_> = claims
        .iter()
        .map(|claim| {
            let label = text(&claim["metadata"]["labels"]["claim-rollout.io/revision"]);
            (text(&claim["status"]["capacity"]["storage"]), label)
        })
        .collect();
    let revision = text(&scene.staged_change().await?["revision"]);
    let expected = ["2Gi", "3Gi"].map(|size| (size.to_owned(), revision.clone()));
    ensure!(found == expected, "{found:?}");
    let written = scene.writes_since(begun).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}
