//! When what is staged was written, as the API server says.
//!
//! The annotation itself is nobody's field: the policy adds it after the API server has noted whose fields change. But who staged
//! it has asked for other templates in the same request, so they are noted as theirs, and the time is that of the request. It moves
//! on when they write something else, as with every `kubectl apply` that changes anything; it is never before the change was
//! staged, and by the same clock as the times of Pods. So it counts where it is earlier than what was reported: after a
//! ClaimRollout was deleted, where nobody looked when the change was staged, and where the clock of the controller is ahead.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::rollout::Seconds;

/// The templates among the fields of somebody.
const TEMPLATES: &str = "/f:spec/f:volumeClaimTemplates";

/// What is staged, as far as it matters here.
#[derive(Deserialize)]
struct Staged {
    manager: String,
}

/// An entry of `metadata.managedFields`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    subresource: String,
    time: Option<Time>,
    #[serde(default)]
    fields_v1: Value,
}

/// The time of the request that staged it, or of a later one; nothing where nobody knows.
pub(super) fn staged_at(staged: &str, managed_fields: &RawValue) -> Option<Seconds> {
    let Staged { manager } = serde_json::from_str(staged).ok()?;
    let entries: Vec<Entry> = serde_json::from_str(managed_fields.get()).ok()?;
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

    use super::staged_at;

    /// An entry of somebody who has asked for these fields of the spec.
    fn entry(manager: &str, second: u8, field: &str) -> Value {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": "apps/v1",
            "time": format!("1970-01-01T00:00:{second:02}Z"),
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {field: {}}},
        })
    }

    #[test]
    fn time_is_that_of_who_staged_the_change() {
        const TEMPLATES: &str = "f:volumeClaimTemplates";
        let helm = |second| entry("helm", second, TEMPLATES);
        let with = |key: &str, value: Value| {
            let mut entry = helm(9);
            entry[key] = value;
            entry
        };
        for (sentence, entries, expected) in [
            ("nobody's", json!([]), None),
            ("another's", json!([entry("kubectl", 5, TEMPLATES)]), None),
            (
                "theirs, but for other fields",
                json!([entry("helm", 5, "f:replicas")]),
                None,
            ),
            ("theirs", json!([helm(5), entry("kubectl", 7, TEMPLATES)]), Some(5)),
            ("by two operations: the later", json!([helm(6), helm(5)]), Some(6)),
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
                staged_at(r#"{"by":"alice","manager":"helm"}"#, &text),
                expected,
                "{sentence}"
            );
            assert_eq!(staged_at("damaged", &text), None, "{sentence}");
        }
    }
}
