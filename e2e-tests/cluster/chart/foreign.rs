//! The kinds of other operators, as the least definitions that an API server serves.

use anyhow::ensure;
use serde_json::json;

use super::helm;
use crate::cluster::quick_start::kubewarden;
use crate::world::{Cluster, PATIENCE, eventually};

/// Group, version, kind and plural.
const KINDS: [[&str; 4]; 4] = [
    ["cert-manager.io", "v1", "Issuer", "issuers"],
    ["cert-manager.io", "v1", "Certificate", "certificates"],
    ["monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"],
    ["monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"],
];

/// Values that need an API which the cluster does not serve, and the cure in the message.
const NEEDS: [(&[&str], &str); 2] = [
    (
        &["admission=kubewarden"],
        "the cluster does not serve policies.kubewarden.io/v1: install Kubewarden (https://docs.kubewarden.io) first, or \
         use the built-in webhook: --set admission=builtin",
    ),
    (
        &["admission=builtin", "webhook.certManager.enabled=true"],
        "the cluster does not serve cert-manager.io/v1: install cert-manager (https://cert-manager.io) first, or leave \
         webhook.certManager.enabled at false",
    ),
];

/// Creates the definitions. Every field of these kinds is accepted.
pub(super) async fn define(cluster: &Cluster) -> anyhow::Result<()> {
    kubewarden::define(cluster).await?;
    for [group, version, kind, plural] in KINDS {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
                "scope": "Namespaced",
                "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        cluster.done(&["apply", "-f", "-"], &definition.to_string()).await?;
        eventually("the kind to be served", PATIENCE, async || {
            let get = cluster
                .kubectl(&["get", &format!("{plural}.{group}"), "-A"], "")
                .await?;
            Ok(get.success.then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Helm fails before it creates anything, and names what to do.
pub(super) async fn missing_api_fails_with_a_cure(cluster: &Cluster) -> anyhow::Result<()> {
    for (values, message) in NEEDS {
        let install = ["install", "claim-rollout", "--dry-run=server"];
        let output = helm(cluster, &install, values).await?;
        ensure!(
            !output.success && output.stderr.contains(message),
            "{values:?}: {output:?}"
        );
    }
    Ok(())
}
