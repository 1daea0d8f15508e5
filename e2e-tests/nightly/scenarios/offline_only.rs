//! A driver that expands only what no Pod uses. What `docs/drivers.md` names is done: scale down once, wait, scale up.

use std::collections::BTreeSet;

use anyhow::ensure;
use serde_json::Value;

use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{Driver, World};

const CLAIMS: [&str; 3] = ["data-web-2", "data-web-1", "data-web-0"];

/// A StatefulSet of three whose driver is offline-only, with all Pods Ready, and the ids of its volumes.
async fn prepare<'a>(
    env: &'a World,
    namespace: &str,
    driver: &Driver,
) -> anyhow::Result<(TestNamespace<'a>, Vec<String>)> {
    let mut ns = env.namespace(namespace).await?;
    ns.make_class(driver, true).await?;
    ns.start_controller(env, &[]).await?;
    ns.target(&Web::replicas(3).class(namespace)).await?;
    ns.settled().await?;
    let output = ns.typed("get pv -o json").await?;
    let volumes: Value = serde_json::from_str(&output.stdout)?;
    let volumes = volumes["items"].as_array().into_iter().flatten();
    let here = volumes.filter(|volume| volume["spec"]["claimRef"]["namespace"] == *namespace);
    let ids = here
        .map(|volume| text(&volume["spec"]["csi"]["volumeHandle"]))
        .collect();
    Ok((ns, ids))
}

/// Stages 2Gi; the driver denies it while Pods run.
async fn stage(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.target(&Web::replicas(3).size("2Gi").class(&ns.namespace)).await?;
    let is_denied = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Expanding" && text(&first["message"]).contains("FailedPrecondition")
    };
    ns.until_reported("the driver's answer", is_denied).await?;
    let count = ns.writes_since(0).await?.count();
    ensure!(count.claims == ["data-web-2"] && count.changes == 0, "{count:?}");
    Ok(())
}

/// Each Pod was replaced once, each PVC was written once, and the end was reported once.
async fn was_one_outage(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.until_complete(3, "2Gi").await?;
    ns.until_event("ClaimRolloutComplete").await?;
    let written = ns.writes_since(0).await?;
    written.is_a_rollout(&CLAIMS, 0)?;
    for pod in ["web-2", "web-1", "web-0"] {
        let states = written.states("pods", pod);
        let uids: BTreeSet<&str> = states.values().map(|entry| &*entry.uid).collect();
        ensure!(uids.len() == 2, "{pod} was {} Pods", uids.len());
    }
    let events = ns.events().await?;
    ensure!(events["ClaimRolloutComplete"] == 1, "{events:?}");
    Ok(())
}

/// One outage: scaled down once, until the report shows that a user may scale up, and up again. The part of a kubelet
/// that kwok does not simulate is done here: a volume is in use while a Pod that mounts it exists.
async fn one_outage(env: &World, namespace: &str, mut driver: Driver) -> anyhow::Result<()> {
    let (ns, volumes) = prepare(env, namespace, &driver).await?;
    let needs_nodes = driver.node_expansion_required;
    let mut mount = |volumes: &[String]| {
        driver.in_use = volumes.to_vec();
        ns.cluster.set_driver_of(namespace, &driver)
    };
    mount(&volumes)?;
    stage(&ns).await?;
    ns.typed("scale statefulset web --replicas=0").await?;
    ns.until_all("no Pod", "pod", <[Value]>::is_empty).await?;
    mount(&[])?;
    let reason = if needs_nodes { "ScaledDown" } else { "Complete" };
    let ended = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == reason;
    ns.until_reported(reason, ended).await?;
    ensure!(
        (ns.staged_change().await?["phase"] == "RollingOut") == needs_nodes,
        "{}",
        ns.log()
    );
    mount(&volumes)?;
    ns.typed("scale statefulset web --replicas=3").await?;
    ns.until_ready(3).await?;
    for claim in CLAIMS.into_iter().filter(|_| needs_nodes) {
        ns.node_grows(claim).await?;
    }
    was_one_outage(&ns).await
}

pub(super) async fn one_outage_grows_all_volumes_and_completes_once(env: &World) -> anyhow::Result<()> {
    one_outage(env, "offline-only", Driver::default()).await
}

/// The file systems grow when the Pods mount the volumes again: the rollout is complete after that.
pub(super) async fn one_outage_with_file_systems_completes_after_the_mount(env: &World) -> anyhow::Result<()> {
    let driver = Driver {
        node_expansion_required: true,
        ..Driver::default()
    };
    one_outage(env, "offline-mounted", driver).await
}
