//! A rollout that its user stops.

use anyhow::ensure;

use super::Environment;
use super::world::{OTHER, anew, claims, prepare, stays, until, until_complete};
use crate::cluster::{EXPANDABLE, eventually};
use crate::scenarios::namespace::PATIENCE;

pub(super) async fn paused_rollout_finishes_the_replica_that_has_begun(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "stopped-paused", &anew(2, EXPANDABLE, "1Gi")).await?;
    // The mark and the deletion pass, the eviction does not.
    env.barriers.hold_pod(&ns.namespace, "web-1");
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    env.barriers.until_held(&ns.namespace).await?;
    ns.done(&["annotate", "statefulset", "web", "claim-rollout.io/paused=true"], "")
        .await?;
    env.barriers.open(&ns.namespace);
    ns.settled().await?;
    until(&ns, "Paused", "paused by the annotation").await?;
    stays(&ns, &["delete data-web-1", "evict web-1"]).await?;
    let (found, _) = claims(&ns).await?;
    ensure!(
        found == ["data-web-0 expandable 1Gi", "data-web-1 fixed 1Gi"],
        "{found:?}"
    );
    ns.done(&["annotate", "statefulset", "web", "claim-rollout.io/paused-"], "")
        .await?;
    until_complete(&ns, 2, OTHER, "1Gi").await
}

/// The PVC that is being deleted cannot be saved, but its Pod goes on with its volume.
pub(super) async fn withdrawal_deletes_nothing_more(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "stopped-withdrawn", &anew(2, EXPANDABLE, "1Gi")).await?;
    let pods = ns.pods().await?;
    env.barriers.hold_pod(&ns.namespace, "web-1");
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    env.barriers.until_held(&ns.namespace).await?;
    let controller = ns.controller.as_ref().map(crate::installation::Controller::log);
    ensure!(controller.is_some(), "a controller");
    // As after a failure of its network: the eviction of before is denied.
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    env.barriers.open_for_others(&ns.namespace);
    eventually("the withdrawal", PATIENCE, async || {
        Ok(ns.staged_change().await?.is_null().then_some(()))
    })
    .await?;
    stays(&ns, &["delete data-web-1"]).await?;
    ensure!(ns.pods().await? == pods, "a Pod was evicted");
    let terminating = ns.claims().await?[1]["metadata"]["deletionTimestamp"].clone();
    ensure!(terminating.is_string(), "{terminating}");
    Ok(())
}
