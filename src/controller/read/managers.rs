//! The entries of `metadata.managedFields`, as far as their fields matter. Deep or unknown fields are skipped.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::metadata::time;
use crate::api::Seconds;

/// An entry: who wrote, when, and which of these fields.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FieldsEntry {
    pub(crate) manager: Option<String>,
    subresource: Option<String>,
    #[serde(default, deserialize_with = "time")]
    time: Option<Time>,
    #[serde(default)]
    fields_v1: OwnedFields,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedFields {
    #[serde(rename = "f:metadata")]
    metadata: OwnedMetadata,
    #[serde(rename = "f:spec")]
    spec: OwnedSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedMetadata {
    #[serde(rename = "f:annotations")]
    annotations: OwnedAnnotations,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedAnnotations {
    #[serde(rename = "f:claim-rollout.io/staged")]
    staged: Option<IgnoredAny>,
    #[serde(rename = "f:claim-rollout.io/staged-at")]
    staged_at: Option<IgnoredAny>,
    #[serde(rename = "f:claim-rollout.io/update-policy")]
    update_policy: Option<IgnoredAny>,
    #[serde(rename = "f:claim-rollout.io/withdraw")]
    withdraw: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnedSpec {
    #[serde(rename = "f:volumeClaimTemplates")]
    templates: Option<IgnoredAny>,
}

impl FieldsEntry {
    /// The annotation `staged-at` of a StatefulSet.
    pub(crate) const fn owns_staged_at(&self) -> bool {
        self.fields_v1.metadata.annotations.staged_at.is_some()
    }

    /// The templates of a StatefulSet.
    pub(crate) fn owns_templates(&self) -> bool {
        let is_of_status = self.subresource.as_ref().is_some_and(|name| !name.is_empty());
        !is_of_status && self.fields_v1.spec.templates.is_some()
    }

    /// True iff a request of this entry may have staged something.
    pub(crate) fn stages(&self) -> bool {
        let annotations = &self.fields_v1.metadata.annotations;
        let annotations = [&annotations.staged, &annotations.update_policy, &annotations.withdraw];
        self.owns_templates() || annotations.into_iter().any(Option::is_some)
    }

    /// The time, if it is one.
    pub(crate) fn seconds(&self) -> Option<Seconds> {
        Seconds::try_from(self.time.as_ref()?.0.as_second()).ok()
    }
}

/// The JSON texts of the entries.
pub(crate) fn texts(managed_fields: Option<&RawValue>) -> Vec<&RawValue> {
    let text = managed_fields.map_or("[]", RawValue::get);
    serde_json::from_str(text).unwrap_or_default()
}

/// The entries that can be read. One that cannot hides no other.
pub(crate) fn entries(managed_fields: Option<&RawValue>) -> Vec<FieldsEntry> {
    let entries = texts(managed_fields).into_iter();
    entries
        .filter_map(|entry| serde_json::from_str(entry.get()).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::{FieldsEntry, entries};

    #[test]
    fn entry_that_cannot_be_read_hides_no_other() {
        let nested = (0..300).fold(json!({}), |inner, _| json!({ "f:a": inner }));
        let all = json!({
            "f:metadata": {"f:annotations": {"f:claim-rollout.io/staged-at": nested}},
            "f:spec": {"f:volumeClaimTemplates": {}},
        });
        let fields = json!([
            {"manager": 1},
            {"manager": "a", "fieldsV1": {"f:spec": 5}},
            {"manager": "b", "time": "10000-01-01T11:59:59Z", "fieldsV1": nested},
            {"manager": "c", "fieldsV1": all},
        ]);
        let text = to_raw_value(&fields).expect("JSON");
        let found = entries(Some(&text));
        let owned = |entry: &FieldsEntry| {
            let manager = entry.manager.clone().unwrap_or_default();
            (manager, [entry.owns_staged_at(), entry.owns_templates()])
        };
        let found: Vec<_> = found.iter().map(owned).collect();
        assert_eq!(found, [("b".to_owned(), [false; 2]), ("c".to_owned(), [true; 2])]);
        assert!(entries(None).is_empty());
    }
}
