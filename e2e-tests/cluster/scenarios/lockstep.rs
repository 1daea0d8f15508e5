//! Image and size change together: first the PVCs of a replica, then its Pod, then the next replica.

use anyhow::ensure;

use crate::world::World;
use crate::world::web::Web;

pub(super) async fn image_and_size_in_one_apply_claim_before_pod_per_replica(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("lockstep", 3).await?;
    let begun = ns.mark().await?;
    let both = Web::replicas(3).size("2Gi").image("2");
    let output = ns.target(&both).await?;
    ensure!(output.stderr.contains("staged data 1Gi -> 2Gi; 3 PVCs"), "{output:?}");
    ns.until_complete(3, "2Gi").await?;
    let set = ns.settled().await?;
    ensure!(
        set["status"]["updatedReplicas"] == 3,
        "every Pod has the new image: {set:#}"
    );

    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.is_a_rollout(&claims, 3)
}
