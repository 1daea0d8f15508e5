//! The request that `kubectl apply` would make, and the decision of the policy on it.

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::overlay;
use crate::admission::{self, Lookups};
use crate::templates::ClaimTemplate;
use crate::webhook::engine::payload;

/// The field manager of `kubectl apply`.
pub(crate) const KUBECTL: &str = "kubectl-client-side-apply";

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestAnswer {
    /// The object as it would be stored, or the reason of the denial.
    pub(crate) stored: Result<Value, String>,
    pub(crate) warnings: Vec<String>,
}

/// The object that the request asks for: the manifest laid over the live one.
pub(crate) fn asked(live: &Value, manifest: &Value, manager: &str) -> Value {
    let mut asked = overlay::apply(live, manifest);
    fill_in(live, &mut asked);
    // Any other manager applies server-side, which leaves the annotation as it is.
    if manager == KUBECTL {
        overlay::set_last_applied(&mut asked, manifest);
    }
    asked
}

/// Adds the defaults of the API server that matter here: the replicas, and the stored form of templates with equal
/// meaning.
fn fill_in(live: &Value, asked: &mut Value) {
    let spec = &mut asked["spec"];
    if spec["replicas"].is_null() {
        spec["replicas"] = json!(1);
    }
    let before = live["spec"]["volumeClaimTemplates"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let read = |template: &Value| ClaimTemplate::list_from_value(json!([template])).ok();
    for template in spec["volumeClaimTemplates"].as_array_mut().into_iter().flatten() {
        let same = |other: &&Value| read(other).is_some_and(|other| read(template).as_ref() == Some(&other));
        if let Some(same) = before.iter().find(same) {
            *template = same.clone();
        }
    }
}

/// Calls the decision with the request. Without an old object, the request is a CREATE.
pub(crate) fn ask(
    old: Option<&Value>,
    new: &Value,
    (user, groups, manager): (&str, &[String], &str),
    settings: &RawValue,
    lookups: &mut dyn Lookups,
) -> anyhow::Result<RequestAnswer> {
    let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
    let request = json!({
        "uid": "plan",
        "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "name": new["metadata"]["name"],
        "namespace": new["metadata"]["namespace"],
        "operation": operation,
        "userInfo": {"username": user, "groups": groups},
        "options": {"fieldManager": manager},
        "object": new,
        "oldObject": old,
    });
    let answer = admission::validate(&payload(&to_raw_value(&request)?, settings), lookups);
    let answer: PolicyResponse = serde_json::from_slice(&answer)?;
    let stored = if answer.accepted {
        Ok(answer.mutated_object.unwrap_or_else(|| new.clone()))
    } else {
        Err(answer.message.unwrap_or_default())
    };
    Ok(RequestAnswer {
        stored,
        warnings: answer.warnings.unwrap_or_default(),
    })
}

/// The fields of Kubewarden's ValidationResponse that are read.
#[derive(Deserialize)]
struct PolicyResponse {
    accepted: bool,
    message: Option<String>,
    mutated_object: Option<Value>,
    warnings: Option<Vec<String>>,
}

/// The fields of `spec` that the API server lets change.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The changed fields of `spec` for which the API server would deny the object after the policy.
pub(crate) fn forbidden(live: &Value, stored: &Value) -> Vec<String> {
    let (Some(before), Some(after)) = (live["spec"].as_object(), stored["spec"].as_object()) else {
        return Vec::new();
    };
    let mut fields: Vec<&String> = before.keys().chain(after.keys()).collect();
    fields.sort();
    fields.dedup();
    let changed = |field: &&String| before.get(*field) != after.get(*field) && !MUTABLE.contains(&field.as_str());
    let words = |field: &String| format!("spec.{field}: the API server denies changes of this field");
    fields.into_iter().filter(changed).map(words).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{KUBECTL, asked};
    use crate::cli::plan::overlay::LAST_APPLIED;

    #[test]
    fn asked_keeps_last_applied_only_client_side() {
        let live = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3}});
        let manifest = json!({"spec": {"replicas": 2}});
        let applied = |manager| asked(&live, &manifest, manager)["metadata"]["annotations"][LAST_APPLIED].clone();
        assert_eq!(applied(KUBECTL), json!("{\"spec\":{\"replicas\":2}}\n"));
        assert_eq!(applied("helm"), json!(null));
    }
}
