//! ClaimRollouts for tests.

use serde_json::{Value, json};

use super::crd::ClaimRollout;

/// The ClaimRollout of the set `web` with this metadata and status.
pub(super) fn rollout(metadata: &Value, status: &Value) -> ClaimRollout {
    serde_json::from_value(json!({
        "apiVersion": "claim-rollout.io/v1alpha1",
        "kind": "ClaimRollout",
        "metadata": metadata,
        "spec": {
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid"},
            "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never",
        },
        "status": status,
    }))
    .unwrap()
}
