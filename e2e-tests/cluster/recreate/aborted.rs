//! A rollout that its user stops.

use anyhow::ensure;
use claim_rollout::templates::keys;
use serde_json::Value;

use crate::cluster::recreate::trial::{OTHER, anew, claims, prepare, start, stays, until_complete, until_next_second};
use crate::world::namespace::{label, text};
use crate::world::{EXPANDABLE, World};

pub(super) async fn paused_rollout_finishes_the_replica_that_has_begun(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "stopped-paused", &anew(2, EXPANDABLE, "1Gi")).await?;
    // The mark and the deletion pass, the eviction does not.
    env.barriers.hold_pod(&ns.namespace, "web-1");
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    env.barriers.until_held(&ns.namespace).await?;
    ns.done(&["annotate", "statefulset", "web", "claim-rollout.io/paused=true"], "")
        .await?;
    env.barriers.open(&ns.namespace);
    ns.settled().await?;
    ns.until_reason("Paused", "paused by the annotation").await?;
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
pub(super) async fn withdrawal_deletes_nothing_more(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "stopped-withdrawn", &anew(2, EXPANDABLE, "1Gi")).await?;
    let pods = ns.pods().await?;
    env.barriers.hold_pod(&ns.namespace, "web-1");
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    env.barriers.until_held(&ns.namespace).await?;
    let controller = ns.controller.as_ref().map(crate::world::installation::Controller::log);
    ensure!(controller.is_some(), "a controller");
    // As after a failure of its network: the eviction of before is denied.
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    env.barriers.open_for_others(&ns.namespace);
    ns.until("the withdrawal", "staged", Value::is_null).await?;
    stays(&ns, &["delete data-web-1"]).await?;
    ensure!(ns.pods().await? == pods, "a Pod was evicted");
    let annotations = ns.set().await?["metadata"]["annotations"].clone();
    ensure!(annotations[keys::STAGED_AT].is_null(), "{annotations}");
    let terminating = ns.claims().await?[1]["metadata"]["deletionTimestamp"].clone();
    ensure!(terminating.is_string(), "{terminating}");
    Ok(())
}

/// The right to delete PVCs is missing, so that a mark is written, and no deletion follows. A pause takes the mark off,
/// and so does a withdrawal: whoever deletes the PVC later does not mean us.
pub(super) async fn mark_goes_with_a_pause_and_with_the_withdrawal(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("stopped-marked").await?;
    ns.excepts(|but| but.recreates = true);
    let role = ["create", "role", "evict", "--verb=create", "--resource=pods/eviction"];
    ns.done(&role, "").await?;
    let account = "--serviceaccount=claim-rollout:claim-rollout-controller";
    ns.done(&["create", "rolebinding", "evict", "--role=evict", account], "")
        .await?;
    start(env, &mut ns, true).await?;
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    ns.settled().await?;
    until_next_second(&ns).await?;
    let is_marked = async |expected: &str| {
        let what = format!("the mark {expected:?}");
        let is_marked = |claim: &Value| text(&claim["metadata"]["annotations"][keys::RECREATED_FOR]) == expected;
        ns.until(&what, "pvc/data-web-1", is_marked).await.map(drop)
    };
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    let mark = label(&ns.staged_change().await?);
    let denied = "failed to delete data-web-1: persistentvolumeclaims \"data-web-1\" is forbidden";
    ns.until_reason("ReCreateStopped", denied).await?;
    is_marked(&mark).await?;

    let paused = |value: &str| format!("claim-rollout.io/paused{value}");
    ns.done(&["annotate", "statefulset", "web", &paused("=true")], "")
        .await?;
    is_marked("").await?;
    ns.done(&["annotate", "statefulset", "web", &paused("-")], "").await?;
    is_marked(&mark).await?;

    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    is_marked("").await?;
    ns.until_reason("Withdrawn", "").await?;
    stays(&ns, &[]).await
}
