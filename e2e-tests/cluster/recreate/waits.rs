//! Nothing is deleted while another Pod is not Ready, the budget allows no eviction, or a right or the flag is missing.

use crate::cluster::recreate::trial::{OTHER, anew, make_ready, prepare, stays, until_complete};
use crate::world::manifests::closed_budget;
use crate::world::{EXPANDABLE, World};

pub(super) async fn nothing_is_deleted_while_another_pod_is_not_ready(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "unready", &anew(3, EXPANDABLE, "1Gi")).await?;
    make_ready(&ns, "web-0", "=false").await?;
    ns.until_ready(2).await?;
    ns.target(&anew(3, OTHER, "1Gi")).await?;
    ns.until_reason("RollingOut", "web-2 waits to be re-created: Pod web-0 is not Ready")
        .await?;
    stays(&ns, &[]).await?;
    make_ready(&ns, "web-0", "-").await?;
    until_complete(&ns, 3, OTHER, "1Gi").await
}

pub(super) async fn nothing_is_deleted_while_the_budget_allows_no_eviction(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "budget", &anew(2, EXPANDABLE, "1Gi")).await?;
    ns.target(&closed_budget()).await?;
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    let message = "web-1 waits to be re-created: no eviction now: 429 Cannot evict pod";
    ns.until_reason("RollingOut", message).await?;
    stays(&ns, &[]).await?;
    ns.typed("delete pdb web").await?;
    until_complete(&ns, 2, OTHER, "1Gi").await
}
