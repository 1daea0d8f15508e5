//! Image and size change together: first the PVCs of a replica, then its Pod, then the next replica.

use anyhow::ensure;

use super::scene::{Scene, Stage, manifest};

pub(super) async fn image_and_size_in_one_apply_claim_before_pod_per_replica(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "lockstep", 3).await?;
    let begun = scene.mark().await?;
    let both = manifest(3, "2Gi").replace("example/main:1", "example/main:2");
    let output = scene.target(&both).await?;
    ensure!(output.stderr.contains("staged data 1Gi -> 2Gi; 3 claims"), "{output:?}");
    scene.until_complete(3, "2Gi").await?;
    let set = scene.settled().await?;
    ensure!(
        set["status"]["updatedReplicas"] == 3,
        "every Pod has the new image: {set:#}"
    );

    let written = scene.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.is_a_rollout(&claims, 3)
}
