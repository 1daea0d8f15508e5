//! What stops a rollout: nothing else is deleted.

use anyhow::ensure;

use crate::cluster::recreate::trial::{
    OTHER, QUIET, allow, anew, claims, expected, make_ready, prepare, start, stays, steps_of, until_complete,
    until_next_second, until_unready,
};
use crate::world::installation::USER;
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

/// A PVC that the StatefulSet controller created from the live templates, because the policy was not called.
pub(super) async fn claim_created_without_the_policy_is_not_deleted_again(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "stopped-otherwise", &anew(2, EXPANDABLE, "1Gi")).await?;
    // The deletion of the PVC is held, and meanwhile a user creates one by hand like the live templates.
    env.barriers.hold_claim(&ns.namespace, "data-web-1");
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    env.barriers.until_held(&ns.namespace).await?;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let old = ns.done(&["get", "pvc", "data-web-1", "-o", "json"], "").await?.stdout;
    let mut claim: serde_json::Value = serde_json::from_str(&old)?;
    let uid = claim["metadata"]["uid"].clone();
    claim["metadata"] = serde_json::json!({"name": "data-web-1", "labels": claim["metadata"]["labels"]});
    claim["status"] = serde_json::Value::Null;
    if let Some(spec) = claim["spec"].as_object_mut() {
        spec.remove("volumeName");
    }
    ns.done(&["delete", "pvc", "data-web-1", "--wait=false"], "").await?;
    ns.done(&["scale", "statefulset", "web", "--replicas=1"], "").await?;
    ns.until_all("the deletion of the PVC", "pvc", |claims| claims.len() == 1)
        .await?;
    ns.done(&["create", "-f", "-"], &claim).await?;
    ns.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    ns.until_ready(2).await?;
    env.barriers.open(&ns.namespace);
    let message = "data-web-1: was created with spec.storageClassName \"expandable\" instead of \"fixed\" after the change \
                   was staged";
    ns.until_reason("ClaimRefused", message).await?;
    stays(&ns, &[]).await?;
    let now = ns.claims().await?;
    ensure!(now[1]["metadata"]["uid"] != uid, "the PVC is still the old one");
    // Without the report, the time of the staging is still known; and the next apply does not move it.
    ns.done(&["delete", "claimrollout", "web"], "").await?;
    ns.target(&anew(2, OTHER, "1Gi").annotated("progress-deadline", "500"))
        .await?;
    ns.until_reason("ClaimRefused", message).await?;
    stays(&ns, &[]).await?;
    // As the message asks.
    ns.done(&["delete", "pvc", "data-web-1", "--wait=false"], "").await?;
    ns.delete_pods(&["web-1"]).await?;
    until_complete(&ns, 2, OTHER, "1Gi").await?;
    let (found, _) = claims(&ns).await?;
    ensure!(found == expected(2, OTHER, "1Gi"), "{found:?}");
    let writes = ns.writes_of(USER).await?;
    let deleted = writes
        .iter()
        .filter(|entry| entry.verb == "delete" && entry.succeeded());
    let deleted: Vec<&str> = deleted.map(|entry| entry.name.as_str()).collect();
    ensure!(deleted == ["data-web-0"], "{deleted:?}");
    Ok(())
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
    let restored = serde_json::json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-web-1", "labels": {"app": "web"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": OTHER, "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    ns.done(&["create", "-f", "-"], &restored).await?;
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
