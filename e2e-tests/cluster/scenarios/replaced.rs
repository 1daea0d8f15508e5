//! Pods and StatefulSets that are deleted during a rollout, and successors of the same name.

use anyhow::ensure;
use serde_json::json;

use crate::world::namespace::condition;
use crate::world::web::Web;
use crate::world::{Driver, World};

/// The driver fails until the test changes it: the rollout waits in the middle.
pub(super) async fn set_deleted_during_rollout_leaves_claims_to_its_successor(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("replaced").await?;
    let driver = Driver {
        maximum_bytes: 1 << 30,
        ..Driver::default()
    };
    ns.make_class(&driver, true).await?;
    ns.start_controller(env, &[]).await?;
    let of = |size: &str| Web::replicas(3).size(size).class("replaced");
    ns.target(&of("1Gi")).await?;
    ns.settled().await?;
    let pods = ns.pods().await?;
    ns.target(&of("2Gi")).await?;
    ns.until_reported("the driver's answer", |rollout| condition(rollout, "Stalled") == "True")
        .await?;
    let begun = ns.mark().await?;
    ns.typed("delete statefulset web --cascade=orphan").await?;
    env.cluster.set_driver_of("replaced", &Driver::default())?;
    ns.until_all("the claim to grow", "pvc", |claims| {
        claims[2]["status"]["capacity"]["storage"] == "2Gi"
    })
    .await?;
    ns.target(&of("2Gi")).await?;
    let set = ns.settled().await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    // The ClaimRollout of the old StatefulSet is deleted with it, or belongs to the new one.
    ns.until_reported("the new set", |rollout| {
        rollout.is_null() || rollout["spec"]["setRef"]["uid"] == set["metadata"]["uid"]
    })
    .await?;
    let written = ns.writes_since(begun).await?;
    let mut objects = written.ours().map(|entry| entry.resource.as_str());
    ensure!(
        !objects.any(|resource| resource == "persistentvolumeclaims" || resource == "statefulsets"),
        "nothing was staged: {:?}",
        written.count()
    );
    let sizes = ns.claims().await?;
    let sizes: Vec<_> = sizes
        .iter()
        .map(|claim| &claim["status"]["capacity"]["storage"])
        .collect();
    ensure!(sizes == [&json!("1Gi"), &json!("1Gi"), &json!("2Gi")], "{sizes:?}");

    // The next staged change applies to all PVCs.
    let begun = ns.mark().await?;
    ns.target(&of("3Gi")).await?;
    ns.until_complete(3, "3Gi").await?;
    let written = ns.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}
