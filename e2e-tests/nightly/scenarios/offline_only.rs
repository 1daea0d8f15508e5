//! A driver that expands only what no Pod uses. What `docs/drivers.md` names is done: scale down once, wait, scale up.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use anyhow::ensure;
use serde_json::Value;

use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{Driver, World};

const CLAIMS: [&str; 3] = ["data-web-2", "data-web-1", "data-web-0"];

/// The part of a kubelet that kwok does not simulate: a volume is in use while a Pod that mounts it exists.
struct Mounts<'a> {
    ns: &'a TestNamespace<'a>,
    /// The ids of the volumes by the names of the PVCs.
    ids: BTreeMap<String, String>,
    driver: Driver,
}

impl<'a> Mounts<'a> {
    async fn new(ns: &'a TestNamespace<'a>, driver: Driver) -> anyhow::Result<Self> {
        let output = ns.done(&["get", "pv", "-o", "json"], "").await?;
        let volumes: Value = serde_json::from_str(&output.stdout)?;
        let volumes = volumes["items"].as_array().into_iter().flatten();
        let of_ns = volumes.filter(|volume| volume["spec"]["claimRef"]["namespace"] == *ns.namespace);
        let id = |volume: &Value| {
            let spec = &volume["spec"];
            (text(&spec["claimRef"]["name"]), text(&spec["csi"]["volumeHandle"]))
        };
        let mounts = Self {
            ns,
            ids: of_ns.map(id).collect(),
            driver,
        };
        mounts.update().await?;
        Ok(mounts)
    }

    /// The driver learns which volumes are in use now.
    async fn update(&self) -> anyhow::Result<()> {
        let pods = self.ns.all("", "v1", "Pod").await?;
        let volumes = pods
            .iter()
            .filter_map(|pod| pod["spec"]["volumes"].as_array())
            .flatten();
        let claims = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
        let driver = Driver {
            in_use: claims.filter_map(|claim| self.ids.get(claim).cloned()).collect(),
            ..self.driver.clone()
        };
        self.ns.cluster.set_driver_of(&self.ns.namespace, &driver)
    }

    async fn run(&self) -> anyhow::Result<Infallible> {
        loop {
            self.update().await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A StatefulSet of three whose driver is offline-only.
async fn prepare<'a>(env: &'a World, namespace: &str, driver: &Driver) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.make_class(driver, true).await?;
    ns.start_controller(env, &[]).await?;
    ns.target(&Web::replicas(3).class(namespace)).await?;
    ns.settled().await?;
    Ok(ns)
}

/// Stages 2Gi; the driver denies it while Pods run. Scales to 0, and waits for what the report shows when a user may scale
/// up.
async fn grow_detached(ns: &TestNamespace<'_>, reason: &str) -> anyhow::Result<()> {
    ns.target(&Web::replicas(3).size("2Gi").class(&ns.namespace)).await?;
    let is_denied = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Expanding" && text(&first["message"]).contains("FailedPrecondition")
    };
    ns.until_reported("the driver's answer", is_denied).await?;
    let count = ns.writes_since(0).await?.count();
    ensure!(count.claims == ["data-web-2"] && count.changes == 0, "{count:?}");
    scale(ns, "0").await?;
    let ended = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == reason;
    ns.until_reported(reason, ended).await?;
    Ok(())
}

async fn scale(ns: &TestNamespace<'_>, replicas: &str) -> anyhow::Result<()> {
    let replicas = format!("--replicas={replicas}");
    ns.done(&["scale", "statefulset", "web", &replicas], "").await.map(drop)
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

/// One outage: scaled down once, and up again.
async fn one_outage(env: &World, namespace: &str, driver: Driver) -> anyhow::Result<()> {
    let ns = prepare(env, namespace, &driver).await?;
    let needs_nodes = driver.node_expansion_required;
    let mounts = Mounts::new(&ns, driver).await?;
    let trial = async {
        grow_detached(&ns, if needs_nodes { "ScaledDown" } else { "Complete" }).await?;
        ensure!(
            (ns.staged_change().await?["phase"] == "RollingOut") == needs_nodes,
            "{}",
            ns.log()
        );
        scale(&ns, "3").await?;
        ns.until_ready(3).await?;
        for claim in CLAIMS.into_iter().filter(|_| needs_nodes) {
            ns.node_grows(claim).await?;
        }
        was_one_outage(&ns).await
    };
    tokio::select! {
        result = trial => result,
        Err(error) = mounts.run() => Err(error),
    }
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
