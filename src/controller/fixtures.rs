//! ClaimRollouts, and what all replacements share, for tests.

use std::sync::Arc;

use kube::Client;
use serde_json::{Value, json};

use super::admission::{Admission, WithoutPolicy};
use super::clock_millis;
use super::crd::ClaimRollout;
use super::replacing::cluster::Cluster;
use crate::api::Settings;

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

/// What replacements share, with the default settings, and journals in the namespace `home`.
pub(super) fn cluster(client: Client) -> Cluster {
    let settings = Arc::<Settings>::default();
    let admission = Admission::new(
        client.clone(),
        Arc::clone(&settings),
        None,
        WithoutPolicy::Stall,
        Arc::default(),
    );
    Cluster {
        client,
        settings,
        admission: Arc::new(admission),
        journals: "home".to_owned(),
        clock: clock_millis,
    }
}
