//! The RabbitMQ cluster operator, and a RabbitmqCluster.

use serde_json::{Value, json};

use super::known::Known;
use crate::world::EXPANDABLE;
use crate::world::namespace::{condition, text};

/// The condition that reports the last reconcile.
const SUCCESS: &str = "ReconcileSuccess";

/// It grows PVCs itself, and re-creates the StatefulSet.
pub(super) const RABBITMQ: Known = Known {
    engine: "rabbitmq-cluster-operator",
    program: "cluster-operator",
    environment: &["OPERATOR_NAMESPACE=rabbitmq-system"],
    flags: &["--metrics-bind-address=127.0.0.1:0", "--zap-log-level=debug"],
    namespace: "rabbitmq-system",
    account: "rabbitmq-cluster-operator",
    cluster_role: "operator-role",
    // No container runs, so that a command in a Pod would fail after a timeout. Without the right it fails at once.
    less: Some(
        r#"[{"op": "test", "path": "/rules/4/resources", "value": ["pods/exec"]}, {"op": "remove", "path": "/rules/4"}]"#,
    ),
    role: Some("leader-election-role"),
    group: "rabbitmq.com",
    version: "v1beta1",
    kind: "RabbitmqCluster",
    resource: "rabbitmqclusters",
    spec: |size| {
        json!({
            "replicas": 3,
            "persistence": {"storageClassName": EXPANDABLE, "storage": size},
            "skipPostDeploySteps": true,
        })
    },
    is_done,
    set: "web-server",
    replicas: 3,
    command: Some("rabbitmq.com/createdAt"),
};

fn is_done(cluster: &Value) -> bool {
    let is_current = cluster["status"]["observedGeneration"] == cluster["metadata"]["generation"];
    is_current && condition(cluster, SUCCESS) == "True"
}

/// Why the last reconcile of the operator failed, or nothing.
pub(super) fn failure(cluster: &Value) -> String {
    let mut conditions = cluster["status"]["conditions"].as_array().into_iter().flatten();
    let failed = conditions.find(|one| one["type"] == SUCCESS && one["status"] == "False");
    failed.map(|one| text(&one["message"])).unwrap_or_default()
}
