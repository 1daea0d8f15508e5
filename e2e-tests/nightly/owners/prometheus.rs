//! The Prometheus operator, and a Prometheus.

use serde_json::{Value, json};

use super::known::Known;
use crate::world::EXPANDABLE;

/// It passes a changed size on to the StatefulSet.
pub(super) const PROMETHEUS: Known = Known {
    engine: "prometheus-operator",
    program: "operator",
    environment: &[],
    flags: &[
        "--disable-unmanaged-prometheus-configuration=true",
        "--watch-referenced-objects-in-all-namespaces=true",
        "--web.listen-address=127.0.0.1:0",
        "--log-level=debug",
    ],
    namespace: "monitoring",
    account: "prometheus-operator",
    cluster_role: "prometheus-operator",
    less: None,
    role: None,
    group: "monitoring.coreos.com",
    version: "v1",
    kind: "Prometheus",
    resource: "prometheuses",
    spec: |size| {
        json!({
            "replicas": 2,
            "serviceMonitorSelector": {},
            "storage": {"volumeClaimTemplate": {"spec": {
                "storageClassName": EXPANDABLE, "resources": {"requests": {"storage": size}},
            }}},
        })
    },
    is_done,
    set: "prometheus-web",
    replicas: 2,
    command: None,
};

/// Whether its last reconcile has succeeded, and its status counts all Pods: it has seen the latest StatefulSet.
fn is_done(prometheus: &Value) -> bool {
    let generation = &prometheus["metadata"]["generation"];
    let conditions = prometheus["status"]["conditions"].as_array();
    let holds = |name: &str| {
        let is_true = |condition: &Value| {
            condition["type"] == name && condition["status"] == "True" && condition["observedGeneration"] == *generation
        };
        conditions.is_some_and(|conditions| conditions.iter().any(is_true))
    };
    ["Reconciled", "Available"].into_iter().all(holds)
}
