//! Pods and StatefulSets that are deleted during a rollout, and successors of the same name.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::scene::{PATIENCE, Scene, Stage, condition, manifest, with_class};
use crate::cluster::{Driver, eventually};

pub(super) async fn pod_deleted_during_rollout_comes_back_and_changes_nothing(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "stopped-pod", 3).await?;
    let begun = scene.mark().await?;
    stage.barriers.hold_claim(&scene.namespace, "data-web-1");
    scene.apply(3, "2Gi").await?;
    let held = stage.barriers.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    scene.done(&["delete", "pod/web-2", "pod/web-1"], "").await?;
    stage.barriers.open(&scene.namespace);
    scene.until_complete(3, "2Gi").await?;
    scene.settled().await?;
    let written = scene.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}

/// The driver fails until the test changes it: the rollout waits in the middle.
pub(super) async fn set_deleted_during_rollout_leaves_claims_to_its_successor(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::new(&stage.cluster, &stage.client, "replaced").await?;
    let driver = Driver {
        maximum_bytes: 1 << 30,
        ..Driver::default()
    };
    scene.make_class(&driver, true).await?;
    scene.start_controller(stage, &[]).await?;
    let of = |size: &str| with_class(&manifest(3, size), "replaced");
    scene.target(&of("1Gi")).await?;
    scene.settled().await?;
    let pods = scene.pods().await?;
    scene.target(&of("2Gi")).await?;
    scene
        .until_reported("the driver's answer", |rollout| condition(rollout, "Stalled") == "True")
        .await?;
    let begun = scene.mark().await?;
    scene
        .done(&["delete", "statefulset", "web", "--cascade=orphan"], "")
        .await?;
    stage.cluster.set_driver_of("replaced", &Driver::default())?;
    let grown = eventually("the claim to grow", PATIENCE, async || {
        Ok((scene.claims().await?[2]["status"]["capacity"]["storage"] == "2Gi").then_some(()))
    });
    grown.await?;
    scene.target(&of("2Gi")).await?;
    let set = scene.settled().await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    // The ClaimRollout of the old StatefulSet is deleted with it, or belongs to the new one.
    scene
        .until_reported("the new set", |rollout| {
            rollout.is_null() || rollout["spec"]["setRef"]["uid"] == set["metadata"]["uid"]
        })
        .await?;
    let written = scene.writes_since(begun).await?;
    let mut objects = written.ours().map(|entry| entry.resource.as_str());
    ensure!(
        !objects.any(|resource| resource == "persistentvolumeclaims" || resource == "statefulsets"),
        "nothing was staged: {:?}",
        written.count()
    );
    let sizes = scene.claims().await?;
    let sizes: Vec<_> = sizes
        .iter()
        .map(|claim| &claim["status"]["capacity"]["storage"])
        .collect();
    ensure!(sizes == [&json!("1Gi"), &json!("1Gi"), &json!("2Gi")], "{sizes:?}");

    // The next staged change applies to all PVCs.
    let begun = scene.mark().await?;
    scene.target(&of("3Gi")).await?;
    scene.until_complete(3, "3Gi").await?;
    let written = scene.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}
