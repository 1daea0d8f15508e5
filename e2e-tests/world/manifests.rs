//! Objects that users have beside a StatefulSet `web`.

use serde_json::{Value, json};

/// A PVC of 1Gi of this class.
pub(crate) fn claim(name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

/// A PodDisruptionBudget `web` that allows no eviction.
pub(crate) fn closed_budget() -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    })
}

/// A policy of somebody else, and its binding: it denies requests in the namespace that fail this validation.
pub(crate) fn denying(
    name: &str,
    namespace: &str,
    [operation, group, resource]: [&str; 3],
    validation: &Value,
) -> [Value; 2] {
    let api = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]});
    let here = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [rule]}, "validations": [validation],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    [policy, binding]
}

/// A patch of a binding of the guard, so that it applies to all namespaces but this one.
pub(crate) fn bound_elsewhere(namespace: &str) -> Value {
    let others = json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]});
    json!({"spec": {"matchResources": {"namespaceSelector": {"matchExpressions": [others]}}}})
}
