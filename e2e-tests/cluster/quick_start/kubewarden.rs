//! A stand_in-in for Kubewarden: its definition of ClusterAdmissionPolicy, and the effect of its controller and a
//! policy-server on the applied objects.

use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::world::installation::api_of_policy_server;
use crate::world::policy_host::{PolicyHost, Shipped, shared_policy};
use crate::world::{Cluster, PATIENCE, eventually};

const DEFINITION: &str = include_str!("clusteradmissionpolicies.yaml");

/// Creates the definition of ClusterAdmissionPolicies.
pub(crate) async fn define(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.done(&["apply", "-f", "-"], DEFINITION).await?;
    let served = eventually("ClusterAdmissionPolicies to be served", PATIENCE, async || {
        Ok(policies(cluster).await.ok())
    });
    served.await.map(drop)
}

/// The applied objects.
async fn policies(cluster: &Cluster) -> anyhow::Result<Vec<Shipped>> {
    let mut list: Value = cluster.read("get clusteradmissionpolicies -o json").await?;
    let items = list["items"].as_array_mut().context("a list")?.iter_mut();
    let shipped = items.map(|object| Shipped {
        name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        spec: object["spec"].take(),
    });
    Ok(shipped.collect())
}

/// Serves the policy as the objects in the cluster ask for, leads the API server to it, and reports in their status
/// that it is active. The module is the one of this tree: nothing is pulled.
pub(crate) async fn serve(cluster: &Cluster) -> anyhow::Result<PolicyHost> {
    let module = shared_policy()?;
    let shipped = policies(cluster).await?;
    let entries = shipped.iter().map(|policy| policy.policy(&module));
    let api = Arc::new(api_of_policy_server(cluster).await?);
    let host = PolicyHost::start(entries.collect::<anyhow::Result<_>>()?, api).await?;
    let client = cluster.client().await?;
    // Sorted by name, the policy for StatefulSets comes first. The API server learns of the registrations in the
    // reverse order: when it calls the last, it calls the first.
    for policy in shipped.iter().rev() {
        host.register(&client, &policy.registration()).await?;
    }
    host.until_called(&client, &Shipped::sets()?.registration(), true)
        .await?;
    let active = json!({"type": "PolicyActive", "status": "True", "reason": "PolicyActive"});
    let status = json!({"status": {"policyStatus": "active", "conditions": [active]}}).to_string();
    for policy in &shipped {
        let object = format!("clusteradmissionpolicy/{}", policy.name);
        let patch = ["patch", &object, "--subresource=status", "--type=merge", "-p", &status];
        cluster.done(&patch, "").await?;
    }
    Ok(host)
}
