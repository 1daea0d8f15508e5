//! The cost of a StatefulSet whose rollout is complete.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::ensure;

use super::scene::{Scene, Stage};
use crate::installation::USER;

/// Long enough for a change to be seen, and for a watch that ended to be logged.
const A_WHILE: Duration = Duration::from_secs(1);

/// How often the controller listed PVCs and Pods here, and how many of its watches on them have ended.
async fn reads(scene: &Scene<'_>) -> anyhow::Result<(usize, usize)> {
    let requests = scene.cluster.requests().await?;
    let ours = requests
        .iter()
        .filter(|entry| entry.user == USER && entry.namespace == scene.namespace)
        .filter(|entry| ["persistentvolumeclaims", "pods"].contains(&entry.resource.as_str()));
    let count = |verb: &str| ours.clone().filter(|entry| entry.verb == verb).count();
    Ok((count("list"), count("watch")))
}

/// Writes this number into the status of the StatefulSet. The number only grows.
async fn write_status(scene: &Scene<'_>, counts: RangeInclusive<u32>) -> anyhow::Result<()> {
    for count in counts {
        let patch = format!(r#"{{"status": {{"collisionCount": {count}}}}}"#);
        let arguments = [
            "patch",
            "statefulset",
            "web",
            "--subresource=status",
            "--type=merge",
            "--patch",
            &patch,
        ];
        scene.done(&arguments, "").await?;
    }
    tokio::time::sleep(A_WHILE).await;
    Ok(())
}

pub(super) async fn status_change_after_completion_reads_no_claim_and_no_pod(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "settled", 1).await?;
    scene.apply(1, "2Gi").await?;
    scene.until_complete(1, "2Gi").await?;
    let (listed, _) = reads(&scene).await?;
    ensure!(
        listed == 2,
        "expected a list of PVCs and one of Pods, but found {listed}"
    );
    write_status(&scene, 1..=5).await?;
    let (again, _) = reads(&scene).await?;
    ensure!(again == listed, "listed {} times after the end", again - listed);
    // The next rollout in a row uses the same watches.
    scene.apply(1, "3Gi").await?;
    scene.until_complete(1, "3Gi").await?;
    let (again, _) = reads(&scene).await?;
    ensure!(again == listed, "listed {} times for the next rollout", again - listed);

    // Another controller reads in the ClaimRollout that nothing is left to do.
    scene.controller = None;
    tokio::time::sleep(A_WHILE).await;
    let before = reads(&scene).await?;
    scene.start_controller(stage, &[]).await?;
    write_status(&scene, 6..=10).await?;
    scene.controller = None;
    tokio::time::sleep(A_WHILE).await;
    let after = reads(&scene).await?;
    ensure!(
        after == before,
        "expected (lists, watches) {before:?}, but found {after:?}"
    );

    // The controller reads when there is a reason.
    scene.start_controller(stage, &[]).await?;
    scene.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    scene
        .until_reported("two replicas", |rollout| rollout["status"]["updatedReplicas"] == 2)
        .await?;
    let (again, _) = reads(&scene).await?;
    ensure!(
        again == after.0 + 2,
        "expected two lists more than {after:?}, but found {again}"
    );
    Ok(())
}
