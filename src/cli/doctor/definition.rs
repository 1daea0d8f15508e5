//! Checks the CustomResourceDefinition of ClaimRollout.

use serde_json::Value;

use super::facts::InstallationFacts;
use super::finding::{Finding, Fix};
use crate::claims::class::Known;

const SUBJECT: &str = "customresourcedefinition/claimrollouts.claim-rollout.io";

/// The definition of this version.
fn fix() -> Fix {
    Fix::restore("deploy/crd.yaml")
}

/// The fault of the definition. A definition with more fields than this program knows is newer, which is no fault.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let stored = match &facts.definition {
        Known::Unknown => return None,
        Known::Missing => return Some(Finding::error(SUBJECT).but("this definition", "none").fix(fix())),
        Known::Found(stored) => stored,
    };
    if let Some(path) = lacks(&stored["spec"], &facts.own_definition["spec"], "spec") {
        let expected = concat!("the definition of version ", env!("CARGO_PKG_VERSION"));
        let found = format!("another {path}: the definition is older than this program");
        return Some(Finding::error(SUBJECT).but(expected, found).fix(fix()));
    }
    let conditions = stored["status"]["conditions"].as_array();
    let established = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    if conditions.into_iter().flatten().any(established) {
        return None;
    }
    let names = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "NamesAccepted");
    let why = names
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or("no such condition");
    let fix = format!("kubectl describe {SUBJECT} shows which other definition has its names: delete that one");
    Some(Finding::error(SUBJECT).but("the condition Established", why).fix(fix))
}

/// The path of the first difference between `stored` and `wanted`. Empty values may be absent.
fn lacks(stored: &Value, wanted: &Value, path: &str) -> Option<String> {
    match (stored, wanted) {
        (_, Value::Null) => None,
        (Value::Object(stored), Value::Object(wanted)) => wanted.iter().find_map(|(key, wanted)| {
            lacks(
                stored.get(key).unwrap_or(&Value::Null),
                wanted,
                &format!("{path}.{key}"),
            )
        }),
        (Value::Array(stored), Value::Array(wanted)) if stored.len() == wanted.len() => {
            let mut pairs = stored.iter().zip(wanted).enumerate();
            pairs.find_map(|(place, (stored, wanted))| lacks(stored, wanted, &format!("{path}[{place}]")))
        }
        (Value::Null, Value::Array(wanted)) if wanted.is_empty() => None,
        (Value::Null, Value::Object(wanted)) if wanted.is_empty() => None,
        _ => (stored != wanted).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lacks;

    #[test]
    fn lacks_finds_missing_and_different_fields() {
        for (stored, wanted, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), None),
            (json!({}), json!({"a": [], "b": {}, "c": null}), None),
            (json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), Some("spec.a.b")),
            (json!({"a": {}}), json!({"a": {"b": 2}}), Some("spec.a.b")),
            (json!({"a": [1]}), json!({"a": [1, 2]}), Some("spec.a")),
            (json!({"a": [1, 3]}), json!({"a": [1, 2]}), Some("spec.a[1]")),
        ] {
            let found = lacks(&stored, &wanted, "spec");
            assert_eq!(found.as_deref(), expected, "{stored} for {wanted}");
        }
    }
}
