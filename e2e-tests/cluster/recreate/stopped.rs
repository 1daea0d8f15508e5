//! What stops a rollout: nothing else is deleted.

use anyhow::ensure;

use crate::cluster::recreate::trial::{
    OTHER, QUIET, allow, anew, make_ready, prepare, start, stays, steps_of, until_complete, until_next_second,
    until_unready,
};
use crate::world::manifests::claim;
use crate::world::{EXPANDABLE, World};

pub(super) async fn pod_that_does_not_come_back_stops_it(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "lost", &anew(3, EXPANDABLE, "1Gi")).await?;
    let pods = ns.pods().await?;
    let never = anew(3, OTHER, "1Gi")
        .annotated("progress-deadline", "5")
        .pods_annotated("e2e.claim-rollout.io/ready", "false");
    ns.target(&never).await?;
    until_unready(&ns, "web-2", &pods[2]).await?;
    ns.until_reason(
        "ProgressDeadlineExceeded",
        "web-1 waits to be re-created: Pod web-2 is not Ready",
    )
    .await?;
    // The gate keeps the other Pods. This one may have been replaced before it was evicted.
    tokio::time::sleep(QUIET).await;
    let deleted = steps_of(&ns.writes_since(0).await?);
    ensure!(
        deleted
            .iter()
            .all(|step| ["delete data-web-2", "evict web-2"].contains(&step.as_str())),
        "{deleted:?}"
    );
    let now = ns.pods().await?;
    ensure!(now[..2] == pods[..2], "{pods:?} are {now:?}");
    for (pod, next) in [("web-2", Some(1)), ("web-1", Some(0)), ("web-0", None)] {
        make_ready(&ns, pod, "-").await?;
        if let Some(next) = next {
            until_unready(&ns, &format!("web-{next}"), &pods[next]).await?;
        }
    }
    until_complete(&ns, 3, OTHER, "1Gi").await
}

pub(super) async fn only_replica_is_not_deleted(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "only", &anew(1, EXPANDABLE, "1Gi")).await?;
    ns.target(&anew(1, OTHER, "1Gi")).await?;
    let message = "web-0 is not re-created: this is the only replica, and its data would be lost: set the annotation \
                   claim-rollout.io/recreate-snapshot";
    ns.until_reason("ReCreateStopped", message).await?;
    stays(&ns, &[]).await?;
    ns.until_event("ClaimRolloutStalled").await
}

/// A replica was restored into another class before. A growth is no reason to delete its PVC.
pub(super) async fn claim_of_another_class_is_no_victim_of_a_growth(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("stopped-growth").await?;
    ns.excepts(|but| but.recreates = true);
    allow(&ns).await?;
    start(env, &mut ns, true).await?;
    ns.done(&["create", "-f", "-"], &claim("data-web-1", OTHER)).await?;
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    ns.settled().await?;
    let before = ns.claims().await?;
    until_next_second(&ns).await?;
    ns.target(&anew(2, EXPANDABLE, "2Gi")).await?;
    let message = "data-web-1: the template has spec.storageClassName \"expandable\", but the PVC has \"fixed\"";
    ns.until_reason("ClaimRefused", message).await?;
    stays(&ns, &[]).await?;
    let now = ns.claims().await?;
    ensure!(now[1]["metadata"]["uid"] == before[1]["metadata"]["uid"], "{now:#?}");
    Ok(())
}
