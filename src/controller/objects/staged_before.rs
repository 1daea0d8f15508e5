//! Finds the time of the staging in the managed fields of a StatefulSet.
//!
//! The annotation has no field manager, because the policy adds it after the API server has computed the managed
//! fields. But the request that staged the change also changed the templates, so its manager owns them, with the time
//! of the request. The time advances when the same manager writes again, as with every `kubectl apply` that changes
//! something. It is never before the staging, and uses the same clock as the times of Pods. So it is used where it is
//! before the reported time: after a ClaimRollout was deleted, if no controller ran when the change was staged, or if
//! the clock of the controller is ahead.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::Seconds;
use crate::controller::read::managers;
use crate::controller::read::managers::FieldsEntry;

/// The manager in the staged change.
#[derive(Deserialize)]
struct Staged {
    manager: String,
}

/// The time of the request that staged the change, or of a later one; none if it is unknown.
pub(crate) fn staged_before(staged: &str, managed_fields: &RawValue) -> Option<Seconds> {
    let Staged { manager } = serde_json::from_str(staged).ok()?;
    let entries = managers::entries(Some(managed_fields));
    let is_theirs = |entry: &&FieldsEntry| entry.manager.as_deref() == Some(&manager) && entry.owns_templates();
    let times: Option<Vec<Seconds>> = entries.iter().filter(is_theirs).map(FieldsEntry::seconds).collect();
    times?.into_iter().max()
}

/// The last time at which somebody wrote the templates, the staged change, or an annotation that stages the live
/// templates; none if it is unknown. It is never before the staging.
pub(crate) fn touched_at(managed_fields: &RawValue) -> Option<Seconds> {
    let entries = managers::entries(Some(managed_fields));
    let staging = entries.iter().filter(|entry| entry.stages());
    staging.filter_map(FieldsEntry::seconds).max()
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::{staged_before, touched_at};

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

    /// Why, the managed fields, and the last touch.
    type Touch = (&'static str, String, Option<u64>);

    #[rustfmt::skip]
    fn touches() -> Vec<Touch> {
        const TEMPLATES: &str = "f:volumeClaimTemplates";
        let annotated = |second: u8, key: &str| {
            let mut entry = entry("kubectl-annotate", second, "f:replicas");
            entry["fieldsV1"]["f:metadata"]["f:annotations"][format!("f:claim-rollout.io/{key}")] = json!({});
            entry
        };
        let with = |key: &str, value: Value| {
            let mut entry = entry("helm", 9, TEMPLATES);
            entry[key] = value;
            entry
        };
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let deep = to_raw_value(&json!([entry("helm", 5, TEMPLATES)]))
            .unwrap()
            .get()
            .replace("\"fieldsV1\":{", &format!("\"fieldsV1\":{{\"f:status\":{deep},"));
        vec![
            ("none", json!([]).to_string(), None),
            ("other fields", json!([entry("helm", 5, "f:replicas")]).to_string(), None),
            ("templates, by anybody", json!([entry("a", 5, TEMPLATES), entry("b", 7, TEMPLATES)]).to_string(), Some(7)),
            ("the staged change by hand", json!([annotated(6, "staged")]).to_string(), Some(6)),
            ("the update policy", json!([annotated(6, "update-policy"), entry("a", 5, TEMPLATES)]).to_string(), Some(6)),
            ("a withdrawal", json!([annotated(6, "withdraw")]).to_string(), Some(6)),
            ("another annotation", json!([annotated(6, "paused"), entry("a", 5, TEMPLATES)]).to_string(), Some(5)),
            ("no time", json!([with("time", Value::Null), entry("a", 5, TEMPLATES)]).to_string(), Some(5)),
            ("a time after the year 9999", json!([with("time", json!("10000-01-01T11:59:59Z")), entry("a", 5, TEMPLATES)]).to_string(), Some(5)),
            ("only such a time", json!([with("time", json!("10000-01-01T11:59:59Z"))]).to_string(), None),
            ("fields nested 1000 deep", deep, Some(5)),
            ("fields that are a list", json!([with("fieldsV1", json!([]))]).to_string(), None),
            ("no list", json!({}).to_string(), None),
        ]
    }

    #[test]
    fn staging_is_never_after_the_last_touch() {
        for (why, entries, expected) in touches() {
            let text = serde_json::value::RawValue::from_string(entries).unwrap();
            assert_eq!(touched_at(&text), expected, "{why}");
        }
    }
}
