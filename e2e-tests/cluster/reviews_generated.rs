//! Ten thousand generated reviews with every operation, kind and setting, valid and forged staged changes, existing
//! and missing PVCs. policy.wasm answers each like the native code, byte for byte.
//!
//! `GENERATED=2000000 cargo test -p e2e-tests --test e2e cluster::reviews_generated` is a deeper run; a failure prints how to repeat the one
//! case.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::world::alike::{Question, ask_both, ensure_all_kinds};
use crate::world::generated::case;
use crate::world::generated::cluster::Cluster;
use crate::world::generated::spelling::spelt;
use crate::world::policy_host::{Api, Capabilities, GetResource, Resource, Subject};

/// The default number of reviews; `GENERATED` changes it.
const GENERATED: u64 = 10_000;

/// The kinds that the policy may read.
const READABLE: [(&str, &str); 4] = [
    ("v1", "PersistentVolumeClaim"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "VolumeAttributesClass"),
    ("apps/v1", "StatefulSet"),
];

/// The cluster of a review, for the policy host.
struct Answers(Cluster);

impl Api for Answers {
    fn get_resource(&self, question: &GetResource) -> Result<Value, String> {
        self.0
            .get(&question.kind, question.namespace.as_deref(), &question.name)
    }

    fn can_i(&self, question: &Subject) -> Result<Value, String> {
        let asked = &question.resource_attributes;
        let right = [
            &*asked.verb,
            &*asked.resource,
            asked.subresource.as_deref().unwrap_or_default(),
        ];
        self.0.may(right).map(|allowed| json!({"allowed": allowed}))
    }
}

fn host(cluster: Cluster) -> Capabilities {
    let granted = ["kubernetes/can_i", "kubernetes/get_resource"].map(str::to_owned);
    let readable = READABLE.map(|(api_version, kind)| Resource {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    });
    Capabilities::new(granted.to_vec(), readable.to_vec(), Arc::new(Answers(cluster)))
}

#[test]
fn generated_reviews_answered_alike_by_wasm_and_native_code() -> anyhow::Result<()> {
    let tally = ask_both("reviews_generated", ("GENERATED", GENERATED), |random| {
        let case = case(random);
        Question {
            payload: spelt(&case.payload(), random).into_bytes(),
            host: host(case.cluster.clone()),
            native: Box::new(case.cluster),
            origin: "a generated review".to_owned(),
        }
    })?;
    ensure_all_kinds(&tally, &["passed", "warned", "changed", "400", "403"], 100)
}
