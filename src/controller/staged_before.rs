//! Finds the time of the staging in the managed fields of a StatefulSet.
//!
//! The annotation has no field manager, because the policy adds it after the API server has computed the managed
//! fields. But the request that staged the change also changed the templates, so its manager owns them, with the time
//! of the request. The time advances when the same manager writes again, as with every `kubectl apply` that changes
//! something. It is never before the staging, and uses the same clock as the times of Pods. So it is used where it is
//! before the reported time: after a ClaimRollout was deleted, if no controller ran when the change was staged, or if
//! the clock of the controller is ahead.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::rollout::Seconds;

/// The path of the templates in the managed fields.
const TEMPLATES: &str = "/f:spec/f:volumeClaimTemplates";

/// The manager in the staged change.
#[derive(Deserialize)]
struct Staged {
    manager: String,
}

/// An entry of `metadata.managedFields`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FieldsEntry {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    subresource: String,
    time: Option<Time>,
    #[serde(default)]
    fields_v1: Value,
}

/// The time of the request that staged the change, or of a later one; none if it is unknown.
pub(super) fn staged_before(staged: &str, managed_fields: &RawValue) -> Option<Seconds> {
    let Staged { manager } = serde_json::from_str(staged).ok()?;
    let entries: Vec<FieldsEntry> = serde_json::from_str(managed_fields.get()).ok()?;
    let theirs = entries.iter().filter(|entry| {
        entry.manager == manager && entry.subresource.is_empty() && entry.fields_v1.pointer(TEMPLATES).is_some()
    });
    let times: Option<Vec<i64>> = theirs
        .map(|entry| entry.time.as_ref().map(|time| time.0.as_second()))
        .collect();
    Seconds::try_from(times?.into_iter().max()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::staged_before;

    /// An entry of a manager that owns this field of the spec.
    fn entry(manager: &str, second: u8, field: &str) -> Value {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": "apps/v1",
            "time": format!("1970-01-01T00:00:{second:02}Z"),
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {field: {}}},
        })
    }

    #[test]
    fn time_is_that_of_the_manager_who_staged_the_change() {
        const TEMPLATES: &str = "f:volumeClaimTemplates";
        let helm = |second| entry("helm", second, TEMPLATES);
        let with = |key: &str, value: Value| {
            let mut entry = helm(9);
            entry[key] = value;
            entry
        };
        for (why, entries, expected) in [
            ("none", json!([]), None),
            ("another manager", json!([entry("kubectl", 5, TEMPLATES)]), None),
            (
                "the manager, other fields",
                json!([entry("helm", 5, "f:replicas")]),
                None,
            ),
            ("the manager", json!([helm(5), entry("kubectl", 7, TEMPLATES)]), Some(5)),
            ("two operations: the later one", json!([helm(6), helm(5)]), Some(6)),
            (
                "not of the status",
                json!([with("subresource", json!("status")), helm(5)]),
                Some(5),
            ),
            ("one without a time", json!([helm(5), with("time", Value::Null)]), None),
            ("no list", json!({}), None),
        ] {
            let text = to_raw_value(&entries).unwrap();
            assert_eq!(
                staged_before(r#"{"by":"alice","manager":"helm"}"#, &text),
                expected,
                "{why}"
            );
            assert_eq!(staged_before("damaged", &text), None, "{why}");
        }
    }
}
