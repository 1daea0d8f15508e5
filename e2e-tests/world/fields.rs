//! What tests read of objects.

use serde_json::{Value, json};

/// The annotation with the staged change.
pub(crate) const STAGED: &str = "claim-rollout.io/staged";

/// The staged change of a StatefulSet, or null.
pub(crate) fn staged_change(set: &Value) -> anyhow::Result<Value> {
    match set["metadata"]["annotations"][STAGED].as_str() {
        Some(text) => Ok(serde_json::from_str(text)?),
        None => Ok(Value::Null),
    }
}

/// The status of a condition.
pub(crate) fn condition(rollout: &Value, type_: &str) -> String {
    let conditions = rollout["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == type_));
    found.map(|condition| text(&condition["status"])).unwrap_or_default()
}

/// A JSON string as text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The label of PVCs that are at this staged change.
pub(crate) fn label(change: &Value) -> String {
    format!("{}.{}", text(&change["revision"]), text(&change["staging"]))
}

/// Whether PVCs are unchanged, except for the annotations of Kubernetes and the status.
pub(crate) fn are_as_written(claims: &[Value], before: &[Value]) -> bool {
    let written = |claim: &Value| {
        let metadata = &claim["metadata"];
        json!([
            metadata["uid"],
            metadata["labels"],
            metadata["ownerReferences"],
            claim["spec"]
        ])
    };
    claims.iter().map(written).eq(before.iter().map(written))
}
