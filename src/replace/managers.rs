//! Field managers, and the fields that have a value of ours while a StatefulSet is replaced.

use serde_json::{Value, json};

use super::live::LiveSet;
use crate::claims::Manager;

/// The manifest of `kubectl apply`, which its next one compares with.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A field that has a value of ours for a while, which a user may want too: then their write changes nothing.
pub(super) struct HeldField {
    /// The keys below `f:spec` in `fieldsV1`.
    owned: [&'static str; 2],
    /// The path in a manifest.
    pointer: &'static str,
}

/// `whenDeleted`, which is `Retain` while the old set is marked.
pub(super) const WHEN_DELETED: HeldField = HeldField {
    owned: ["f:persistentVolumeClaimRetentionPolicy", "f:whenDeleted"],
    pointer: "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted",
};

/// The type of the update strategy, which is `OnDelete` in place of `Recreate` until the new set has the Pods.
pub(super) const STRATEGY_TYPE: HeldField = HeldField {
    owned: ["f:updateStrategy", "f:type"],
    pointer: "/spec/updateStrategy/type",
};

impl LiveSet {
    /// The managers of a field, as entries of `metadata.managedFields` with this field alone.
    #[must_use]
    pub(super) fn managers_of(&self, field: &HeldField) -> Vec<Value> {
        let owners = self.owners_of(field).cloned();
        owners
            .map(|mut owner| {
                owner["fieldsV1"] = json!({"f:spec": {(field.owned[0]): {(field.owned[1]): {}}}});
                owner
            })
            .collect()
    }

    /// True iff somebody else than us is a manager of the field.
    #[must_use]
    pub(super) fn has_others(&self, field: &HeldField) -> bool {
        self.owners_of(field).any(|entry| entry["manager"] != Manager::OURS)
    }

    fn owners_of(&self, field: &HeldField) -> impl Iterator<Item = &Value> {
        let [outer, inner] = field.owned;
        self.managers()
            .filter(move |entry| !entry["fieldsV1"]["f:spec"][outer][inner].is_null())
    }

    /// The value of a field in the manifest of `kubectl apply`. An apply of the value that we gave the field changes
    /// nothing else.
    #[must_use]
    pub(super) fn applied(&self, field: &HeldField) -> Option<Value> {
        let manifest: Value = serde_json::from_str(self.annotation(LAST_APPLIED)?).ok()?;
        manifest.pointer(field.pointer).cloned()
    }
}

/// The entries of `metadata.managedFields`, with the fields of these.
pub(super) fn with_managers(mut entries: Value, others: &[Value]) -> Value {
    let Some(list) = entries.as_array_mut() else {
        return entries;
    };
    let is_same = |one: &Value, other: &Value| {
        let keys = ["manager", "operation", "apiVersion", "subresource"];
        keys.iter().all(|key| one[*key] == other[*key])
    };
    for other in others {
        match list.iter_mut().find(|entry| is_same(entry, other)) {
            Some(entry) => unite(&mut entry["fieldsV1"], &other["fieldsV1"]),
            None => list.push(other.clone()),
        }
    }
    entries
}

/// Adds the fields of another entry.
fn unite(fields: &mut Value, others: &Value) {
    let (Some(fields), Some(others)) = (fields.as_object_mut(), others.as_object()) else {
        return;
    };
    for (key, other) in others {
        unite(fields.entry(key).or_insert_with(|| json!({})), other);
    }
}
