//! Objects of one tenant that are hard to read, and the rollouts of another one beside them.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::{Cluster, MARKER, Options, eventually};
use crate::installation::{Controller, Controllers};
use crate::scale::fleet::Fleet;

const PATIENCE: Duration = Duration::from_secs(120);
const FLAGS: [&str; 3] = [
    "--leader-elect=false",
    "--allow-without-policy",
    // A budget opens when every StatefulSet was seen once.
    "--max-modifications=expandable=5",
];

/// The API server normalises it, and serves a year that no other clock shows.
const LATE: &str = "9999-12-31T23:59:59-12:00";

/// Managed fields with a late time, and nested without end.
fn managed_fields(api_version: &str) -> [Value; 2] {
    let nested = (0..200).fold(json!({}), |inner, _| json!({ "f:a": inner }));
    [(LATE, json!({"f:metadata": {}})), ("2026-01-01T00:00:00Z", nested)].map(|(time, fields)| {
        json!([{
            "manager": "tenant", "operation": "Update", "apiVersion": api_version, "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        }])
    })
}

/// A Pod that is never scheduled.
fn pod(name: &str, managed_fields: &Value) -> Value {
    let container = json!({"name": "main", "image": "example/main:1", "env": [{"name": "PASSWORD", "value": MARKER}]});
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "managedFields": managed_fields},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    })
}

/// Waits until the metrics show this many complete rollouts.
async fn until_known(controller: &Controller, number: usize) -> anyhow::Result<()> {
    let line = format!("claim_rollout_rollouts{{state=\"Complete\"}} {number}");
    eventually("the reports to be known", PATIENCE, async || {
        let (_, metrics) = controller.get("/metrics")?;
        Ok(metrics.lines().any(|found| found == line).then_some(()))
    })
    .await
}

/// The poisoned objects are of `fleet-0`. The rollouts of both complete, also after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn poisoned_objects_of_one_tenant_stop_no_rollout() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let controllers = Controllers::install(&cluster).await?;
    let fleet = Fleet::create(&cluster.client().await?, 2, 2, 1).await?;
    let kubectl = async |arguments: &[&str], input: &Value| {
        let output = cluster
            .kubectl(&[arguments, &["-n", "fleet-0"]].concat(), &input.to_string())
            .await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        anyhow::Ok(output.stdout)
    };
    for (index, fields) in managed_fields("v1").iter().enumerate() {
        kubectl(&["create", "-f", "-"], &pod(&format!("poisoned-{index}"), fields)).await?;
    }
    let stored = kubectl(&["get", "pods", "--show-managed-fields", "-o", "json"], &Value::Null).await?;
    ensure!(stored.contains("10000-01-01T11:59:59Z"), "the time is stored: {stored}");

    let mut controller = controllers.start(&FLAGS).await?;
    fleet.roll("2Gi").await?;
    until_known(&controller, 2).await?;
    let report = format!("claimrollout/{}", fleet.sets[0].name);
    for fields in managed_fields("claim-rollout.io/v1alpha1") {
        let patch = json!({"metadata": {"managedFields": fields}}).to_string();
        kubectl(&["patch", &report, "--type=merge", "-p", &patch], &Value::Null).await?;
    }
    controller.terminate().await?;

    let mut controller = controllers.start(&FLAGS).await?;
    until_known(&controller, 2).await?;
    fleet.roll("3Gi").await?;
    let (_, metrics) = controller.get("/metrics")?;
    let failed = metrics
        .lines()
        .find(|line| line.starts_with("claim_rollout_watch_errors_total{resource=\"pods\"}"));
    ensure!(failed.context("a metric")?.ends_with(" 0"), "{failed:?}");
    controller.terminate().await?;
    cluster.stop();
    Ok(())
}
