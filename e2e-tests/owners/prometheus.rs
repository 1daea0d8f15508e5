//! The Prometheus operator, and a Prometheus.

use serde_json::json;

use super::operator::Known;
use crate::cluster::EXPANDABLE;

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
    is_done: |_| true,
    set: "prometheus-web",
    replicas: 2,
    command: None,
};
