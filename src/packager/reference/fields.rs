//! The fields of ClaimRollout, from its CustomResourceDefinition.

use anyhow::Context as _;
use kube::CustomResourceExt as _;
use serde_json::Value;

use super::section::{code, section};
use crate::controller::crd::ClaimRollout;

/// The fields, each with its type and description.
pub(super) fn all() -> anyhow::Result<String> {
    let definition = serde_json::to_value(ClaimRollout::crd())?;
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema");
    let mut rows = Vec::new();
    for part in ["spec", "status"] {
        let properties = schema.and_then(|schema| schema.pointer(&format!("/properties/{part}")));
        collect(part, properties.with_context(|| format!("expected {part}"))?, &mut rows);
    }
    Ok(section(
        "Fields of ClaimRollout",
        "`claim-rollout.io/v1alpha1`, namespaced, short name `vcr`. A ClaimRollout has the name of its StatefulSet. It is a \
         report: the controller writes it, and never decides from it. `kubectl explain claimrollout.status` prints the \
         same.",
        &["field", "type", "meaning"],
        rows,
    ))
}

/// Adds the row of a field, and those of the fields in it. The fields of a condition are those of Kubernetes.
fn collect(path: &str, schema: &Value, rows: &mut Vec<Vec<String>>) {
    let text = |key: &str| {
        schema[key]
            .as_str()
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_owned()
    };
    let kind = match (text("type").as_str(), text("format").as_str()) {
        ("string", "date-time") => "time".to_owned(),
        ("array", _) => "list".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    // A row is one line.
    rows.push(vec![code(path), kind, text("description").replace('\n', " ")]);
    let (path, inner) = match schema.get("items") {
        Some(items) => (format!("{path}[]"), items),
        None => (path.to_owned(), schema),
    };
    if path.ends_with("conditions[]") {
        return;
    }
    for (name, property) in inner["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), property, rows);
    }
}
