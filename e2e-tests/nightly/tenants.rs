//! Objects of one tenant that are hard to read, and the rollouts of the others beside them.

use std::fmt::Display;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::nightly::scale::fleet::Fleet;
use crate::nightly::scale::until_reported;
use crate::world::engines;
use crate::world::installation::manifest_applied;
use crate::world::managed_fields::managed_fields;
use crate::world::web::Web;
use crate::world::{Cluster, MARKER, Options, World};

const PATIENCE: Duration = Duration::from_secs(120);
const FLAGS: [&str; 4] = [
    "--leader-elect=false",
    "--allow-without-policy",
    // A budget opens when every StatefulSet was seen once.
    "--max-modifications=expandable=5",
    "--openkruise",
];
/// The namespace of the tenant whose objects are hard to read.
const TENANT: &str = "fleet-0";
/// Above 16 namespaces with a rollout in progress, one watch serves them all.
const NAMESPACES: usize = 18;

/// A Pod that is never scheduled.
fn pod(name: &str, managed_fields: &Value) -> Value {
    let container = json!({"name": "main", "image": "example/main:1", "env": [{"name": "PASSWORD", "value": MARKER}]});
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "managedFields": managed_fields},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    })
}

/// Runs kubectl in the namespace of the tenant.
async fn tenant(cluster: &Cluster, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<String> {
    let output = cluster
        .done(&[arguments, &["-n", TENANT]].concat(), &input.to_string())
        .await?;
    Ok(output.stdout)
}

/// A StatefulSet of each kind, both with this name.
async fn create_twins(cluster: &Cluster, name: &str) -> anyhow::Result<()> {
    let definition = engines::build("openkruise")
        .await?
        .join("config/crd/bases/apps.kruise.io_statefulsets.yaml");
    let definition = definition.to_str().context("a path in UTF-8")?;
    cluster.done(&["apply", "--server-side", "-f", definition], "").await?;
    let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    cluster.done(&established, "").await?;
    manifest_applied(cluster, "openkruise.yaml").await?;
    let twin = Web::replicas(1).named(name);
    tenant(cluster, &["apply", "-f", "-"], &twin).await?;
    let other = twin.with(&json!({"apiVersion": "apps.kruise.io/v1beta1"}));
    tenant(cluster, &["apply", "-f", "-"], &other).await?;
    Ok(())
}

/// The hard objects are of one tenant: Pods, a report, two StatefulSets with one name. The rollouts of all tenants
/// complete, also after a restart, and the tenant learns of the name.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn poisoned_objects_of_one_tenant_stop_no_rollout() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let fleet = Fleet::create(&world.client, NAMESPACES, NAMESPACES, 1).await?;
    for (index, fields) in managed_fields("v1").iter().enumerate() {
        let pod = pod(&format!("poisoned-{index}"), fields).to_string();
        tenant(&world.cluster, &["create", "-f", "-"], &pod).await?;
    }
    let stored = tenant(
        &world.cluster,
        &["get", "pods", "--show-managed-fields", "-o", "json"],
        "",
    )
    .await?;
    ensure!(stored.contains("10000-01-01T11:59:59Z"), "the time is stored: {stored}");
    create_twins(&world.cluster, "twin").await?;

    let mut controller = world.controllers.start(&FLAGS).await?;
    fleet.roll("2Gi").await?;
    until_reported(PATIENCE, &controller, "Complete", NAMESPACES).await?;
    let report = format!("claimrollout/{}", fleet.sets[0].name);
    for fields in managed_fields("claim-rollout.io/v1alpha1") {
        let patch = json!({"metadata": {"managedFields": fields}}).to_string();
        tenant(&world.cluster, &["patch", &report, "--type=merge", "-p", &patch], "").await?;
    }
    controller.terminate().await?;

    let mut controller = world.controllers.start(&FLAGS).await?;
    until_reported(PATIENCE, &controller, "Complete", NAMESPACES).await?;
    fleet.roll("3Gi").await?;
    let (_, metrics) = controller.get("/metrics")?;
    let failed = metrics
        .lines()
        .find(|line| line.starts_with("claim_rollout_watch_errors_total{resource=\"pods\"}"));
    ensure!(failed.context("a metric")?.ends_with(" 0"), "{failed:?}");
    let each = r"jsonpath={range .items[*]}{.involvedObject.name} {.message}{'\n'}{end}";
    let events = ["get", "events", "-o", each];
    let emitted = tenant(&world.cluster, &events, "").await?;
    let is_named = emitted
        .lines()
        .any(|line| line.starts_with("twin ") && line.contains("same name"));
    ensure!(is_named, "{emitted}");
    controller.terminate().await?;
    world.stop().await
}
