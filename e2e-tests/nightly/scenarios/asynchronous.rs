//! `sync: Async`: Pods do not wait for their PVCs.

use anyhow::ensure;

use crate::world::World;
use crate::world::web::Web;

pub(super) async fn async_pods_and_claims_do_not_wait_for_each_other(env: &World) -> anyhow::Result<()> {
    let of = |size: &str| Web::replicas(3).size(size).annotated("sync", "Async");
    let ns = env.with_web("stopped-async", &of("1Gi")).await?;
    let begun = ns.mark().await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-2");
    let output = ns.target(&of("2Gi").image("2")).await?;
    ensure!(!output.stderr.contains("held"), "{output:?}");
    let set = ns.settled().await?;
    ensure!(
        set["status"]["updatedReplicas"] == 3,
        "every Pod has the new image: {set:#}"
    );
    let claims = ns.claims().await?;
    let sizes = claims.iter().map(|claim| &claim["status"]["capacity"]["storage"]);
    ensure!(sizes.eq(["1Gi"; 3].iter()), "no claim was written: {claims:#?}");

    env.barriers.open(&ns.namespace);
    ns.until_complete(3, "2Gi").await?;
    let written = ns.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}
