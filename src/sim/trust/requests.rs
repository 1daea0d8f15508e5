//! bob's requests.

use serde_json::{Value, json};

use super::super::schedule::Random;
use super::manifests::{self, REVISED, template};
use crate::templates::{Phase, UpdatePolicy, keys};

/// A request of bob.
#[derive(Clone, Debug)]
pub(super) enum BobRequest {
    /// `kubectl delete`.
    Delete,
    /// Reads the StatefulSet, or creates it if it does not exist, and sends it with edits.
    Write {
        /// `status`, or empty.
        subresource: &'static str,
        /// `options.fieldManager`
        manager: &'static str,
        dry_run: bool,
        edits: Vec<BobEdit>,
    },
}

/// An edit of the object.
#[derive(Clone, Debug)]
pub(super) enum BobEdit {
    /// Sets or removes an annotation.
    Annotate(&'static str, Option<String>),
    /// Sets the owner references.
    Own(Value),
    /// Sets the templates.
    Templates(Value),
    /// Sets another field, by JSON pointer.
    Other(&'static str, Value),
}

const POLICIES: [Option<&str>; 6] = [
    Some("InPlace"),
    Some("InPlace"),
    Some("OnClaimDelete"),
    Some("ReCreate"),
    Some("nonsense"),
    None,
];

impl BobRequest {
    pub(super) fn random(random: &mut Random, uid: &str) -> Self {
        if random.below(24) == 0 {
            return Self::Delete;
        }
        let subresource = if random.below(4) == 0 { "status" } else { "" };
        let edits = (0..=random.below(3)).map(|_| BobEdit::random(random, uid));
        Self::Write {
            subresource,
            edits: edits.collect(),
            manager: random.pick(&["kubectl", "helm", "claim-rollout"]),
            dry_run: random.below(16) == 0,
        }
    }
}

impl BobEdit {
    fn random(random: &mut Random, uid: &str) -> Self {
        let flag = |random: &mut Random, values: &[Option<&str>]| random.pick(values).map(str::to_owned);
        match random.below(13) {
            0..=2 => Self::Annotate(keys::UPDATE_POLICY, flag(random, &POLICIES)),
            3..=4 => Self::Annotate(keys::STAGED, staged(random, uid)),
            5..=6 => Self::Own(owners(random)),
            7 => Self::Templates(json!([template(random.pick(&["5Gi", "10Gi", "20Gi", "99Gi"]))])),
            12 => Self::Annotate(
                keys::REPLACE_SET,
                flag(
                    random,
                    &[Some("WhenComplete"), Some("WhenComplete"), Some("Never"), None],
                ),
            ),
            8 => Self::Annotate(keys::PAUSED, flag(random, &[Some("true"), Some("false"), None])),
            9 => {
                let key = random.pick(&[keys::SYNC, keys::PHASE, keys::READY, keys::READY, keys::WITHDRAW]);
                let value = random.pick(&[Some("Async"), Some("Complete"), Some("0"), Some(REVISED), None]);
                Self::Annotate(key, value.map(str::to_owned))
            }
            10 => {
                let applied = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}, "spec": {
                    "volumeClaimTemplates": [template(random.pick(&["10Gi", "20Gi"]))]}});
                Self::Annotate(
                    "kubectl.kubernetes.io/last-applied-configuration",
                    Some(applied.to_string()),
                )
            }
            _ => {
                let (place, value) = random.pick(&[
                    ("/spec/replicas", 5),
                    ("/spec/replicas", 1),
                    ("/spec/updateStrategy/rollingUpdate/partition", 0),
                    ("/spec/updateStrategy/rollingUpdate/partition", 3),
                ]);
                Self::Other(place, json!(value))
            }
        }
    }

    /// Edits the object.
    pub(super) fn apply(&self, object: &mut Value) {
        match self {
            Self::Annotate(key, Some(value)) => object["metadata"]["annotations"][key] = value.as_str().into(),
            Self::Annotate(key, None) => {
                if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                    annotations.remove(*key);
                }
            }
            Self::Own(owners) => object["metadata"]["ownerReferences"] = owners.clone(),
            Self::Templates(templates) => object["spec"]["volumeClaimTemplates"] = templates.clone(),
            Self::Other(place, value) => {
                if let Some(found) = object.pointer_mut(place) {
                    *found = value.clone();
                }
            }
        }
    }
}

/// bob's value for the annotation `staged`: a change of his own, another of alice, an invalid one, or none.
fn staged(random: &mut Random, uid: &str) -> Option<String> {
    let policy = random.pick(&[
        UpdatePolicy::InPlace,
        UpdatePolicy::InPlace,
        UpdatePolicy::OnClaimDelete,
        UpdatePolicy::ReCreate,
    ]);
    let phase = random.pick(&[Phase::RollingOut, Phase::Complete]);
    let size = random.pick(&["20Gi", "99Gi", "10Gi"]);
    match random.below(6) {
        0 => None,
        1 => Some("{}".to_owned()),
        2 => Some(manifests::staged_change(size, "of-another", policy, phase)),
        _ => Some(manifests::staged_change(size, uid, policy, phase)),
    }
}

fn owners(random: &mut Random) -> Value {
    let owner = |api_version: &str, kind: &str, controller: bool| json!([{"apiVersion": api_version, "kind": kind, "name": "o", "uid": "o", "controller": controller}]);
    match random.below(5) {
        0..=1 => Value::Null,
        2 => owner("v1", "ConfigMap", true),
        3 => owner("example.com/v1", "Database", true),
        _ => owner("v1", "ConfigMap", false),
    }
}
