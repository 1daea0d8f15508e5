//! For what Flux and Helm 4 wait: the status that kstatus computes.

use anyhow::ensure;

use super::beside::prepare;
use super::comparers::status;
use super::cycle::in_git;
use super::tools::forced;
use crate::world::World;

/// If only templates change, the wait ends at once. With a new image, it ends after the last Pod.
pub(super) async fn kstatus_waits_for_pods_and_not_for_volumes(env: &World) -> anyhow::Result<()> {
    let sync = forced("kustomize-controller");
    let mut ns = prepare(env, "kstatus", sync).await?;
    let large = in_git("2Gi");
    sync.send(&ns, &large.value()).await?;
    let staged = ns.settled().await?;
    ensure!(
        staged["metadata"]["annotations"]["claim-rollout.io/phase"] == "RollingOut",
        "{staged:#}"
    );
    let found = status(&env.cluster, &staged).await?;
    ensure!(found == "Current", "{found} while PVCs are to be updated");

    sync.send(&ns, &large.image("2").value()).await?;
    ns.until_denied("web-1").await?;
    let found = status(&env.cluster, &ns.set().await?).await?;
    ensure!(found == "InProgress", "{found} while Pods wait");

    ns.start_controller(env, &[]).await?;
    ns.until_complete(2, "2Gi").await?;
    ns.until_updated(2).await?;
    let found = status(&env.cluster, &ns.settled().await?).await?;
    ensure!(found == "Current", "{found} at the end");
    Ok(())
}
