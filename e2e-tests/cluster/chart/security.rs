//! The Pods of the chart under the restricted level of the Pod Security Standards.

use std::time::Duration;

use anyhow::ensure;
use serde_json::Value;

use super::helm;
use crate::world::installation::NAMESPACE;
use crate::world::{Cluster, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// Every value that was a trap once, in one installation: other ports, no priority class of its own.
const VALUES: [&str; 5] = [
    "admission=builtin",
    "webhook.port=10250",
    "webhook.metricsPort=9090",
    "controller.port=9091",
    "priorityClass.create=false",
];

/// The Pods of all Deployments are created; the level denies a Pod without a security context.
pub(super) async fn restricted_level_admits_the_pods(cluster: &Cluster) -> anyhow::Result<()> {
    let enforce = "pod-security.kubernetes.io/enforce=restricted";
    let labelled = cluster.kubectl(&["label", "namespace", NAMESPACE, enforce], "").await?;
    ensure!(labelled.success, "{labelled:?}");
    let run = ["run", "plain", "--image=plain", "--dry-run=server", "-n", NAMESPACE];
    let plain = cluster.kubectl(&run, "").await?;
    ensure!(
        !plain.success && plain.stderr.contains("violates PodSecurity \"restricted"),
        "{plain:?}"
    );

    let installed = helm(cluster, &["install", "claim-rollout"], &VALUES).await?;
    ensure!(installed.success, "{installed:?}");
    let mut found = Vec::new();
    let created = eventually("two Pods of each Deployment", PATIENCE, async || {
        let get = cluster
            .kubectl(&["get", "pods", "-n", NAMESPACE, "-o", "json"], "")
            .await?;
        let list: Value = serde_json::from_str(&get.stdout)?;
        let component = |pod: &Value| pod["metadata"]["labels"]["app.kubernetes.io/component"].clone();
        found = list["items"].as_array().into_iter().flatten().map(component).collect();
        found.sort_by_key(ToString::to_string);
        Ok((found.len() == 4).then_some(()))
    });
    created.await?;
    ensure!(found == ["controller", "controller", "webhook", "webhook"], "{found:?}");
    Ok(())
}
