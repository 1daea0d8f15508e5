//! Pods that are not Ready.

use anyhow::ensure;
use serde_json::Value;

use crate::cluster::recreate::trial::make_ready;
use crate::world::namespace::{TestNamespace, condition};
use crate::world::web::Web;
use crate::world::{World, until};

/// Waits until the Pod runs this image and is not Ready.
async fn until_unready(ns: &TestNamespace<'_>, pod: &str, image: &str) -> anyhow::Result<()> {
    let is_unready = |pod: &Value| {
        let runs = pod["spec"]["containers"][0]["image"] == image && pod["metadata"]["deletionTimestamp"].is_null();
        runs && condition(pod, "Ready") == "False"
    };
    ns.until("a Pod that is not Ready", &format!("pod/{pod}"), is_unready)
        .await
        .map(drop)
}

/// The disk of the Pod may be full, so its own PVC must grow.
pub(super) async fn pod_never_ready_keeps_no_claim_from_growing(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("unready", 3).await?;
    let (begun, pods) = (ns.mark().await?, ns.pods().await?);
    make_ready(&ns, "web-2", "=false").await?;
    until_unready(&ns, "web-2", "example/main:1").await?;
    ns.apply(3, "2Gi").await?;
    ns.until_complete(3, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let status = ns.set().await?["status"].clone();
    ensure!(status["readyReplicas"] == 2, "{status:#}");
    let written = ns.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}

pub(super) async fn new_pod_not_ready_keeps_next_claim_waiting(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("unready-new", 2).await?;
    let begun = ns.mark().await?;
    let both = Web::replicas(2).size("2Gi").image("2");
    ns.target(&both.pods_annotated("e2e.claim-rollout.io/ready", "false"))
        .await?;
    for (pod, so_far) in [
        ("web-1", &["data-web-1"][..]),
        ("web-0", &["data-web-1", "data-web-0"][..]),
    ] {
        until_unready(&ns, pod, "example/main:2").await?;
        // With the last PVC the rollout is complete, whatever the Pod does.
        let is_last = so_far.len() == 2;
        if is_last {
            ns.until_complete(2, "2Gi").await?;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let count = ns.writes_since(begun).await?.count();
        ensure!(
            count.claims == so_far && count.changes == usize::from(is_last),
            "{pod}: {count:?}"
        );
        make_ready(&ns, pod, "-").await?;
    }
    ns.until_complete(2, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[1, 0])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 2)
}

/// Kubernetes replaces no Pod while a lower one is not Ready (`OrderedReady`), and the lower one may need a larger PVC:
/// so that PVC comes first.
pub(super) async fn claim_of_pod_that_blocks_others_grows_first(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("unready-below", 3).await?;
    let (begun, pods) = (ns.mark().await?, ns.pods().await?);
    make_ready(&ns, "web-0", "=false").await?;
    until_unready(&ns, "web-0", "example/main:1").await?;
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let written = async || Ok(ns.writes_since(begun).await?.count().claims);
    until("the claim of web-0", written, |claims| {
        *claims == ["data-web-0", "data-web-2"]
    })
    .await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims == ["data-web-0", "data-web-2"], "{count:?}");
    ensure!(ns.pods().await? == pods, "Kubernetes replaced a Pod");
    // The disk has space again.
    make_ready(&ns, "web-0", "-").await?;
    ns.until_complete(3, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1])?;
    written.is_a_rollout(&["data-web-0", "data-web-2", "data-web-1"], 3)
}
