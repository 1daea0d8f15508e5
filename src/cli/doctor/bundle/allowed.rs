//! What may be in a bundle: the fields of each kind. Everything else is left out, so that a field which nobody has
//! thought of is not in it.

use serde_json::{Map, Value, json};

use crate::templates::keys;
use crate::templates::user_keys::USER_KEYS;

/// Stands for a value that is left out.
pub(super) const LEFT_OUT: &str = "(left out)";

/// The fields of `metadata` of every object.
const METADATA: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "metadata.labels",
    "metadata.annotations",
    "metadata.managedFields[].manager",
    "metadata.managedFields[].operation",
    "metadata.managedFields[].subresource",
    "metadata.managedFields[].time",
];

/// Annotations of others whose values are shown.
const SHOWN: [&str; 8] = [
    "deployment.kubernetes.io/revision",
    "helm.sh/resource-policy",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
];

/// The places of volumeClaimTemplates: their annotations are those of the PVCs.
const TEMPLATES: [&str; 2] = ["/spec/volumeClaimTemplates", "/spec/templates"];

/// The fields of a staged change.
const STAGED: &[&str] = &[
    "by",
    "manager",
    "phase",
    "revision",
    "staging",
    "templates",
    "uid",
    "updatePolicy",
    "version",
];

/// The object with these fields of its own, its kind, and its metadata. Values of annotations are left out, except those
/// that claim-rollout writes or understands.
pub(super) fn allowed(object: &Value, paths: &[&str]) -> Value {
    let paths: Vec<&str> = ["apiVersion", "kind"]
        .iter()
        .chain(METADATA)
        .chain(paths)
        .copied()
        .collect();
    let mut shown = only(object, &paths);
    hide(shown.pointer_mut("/metadata/annotations"));
    for place in TEMPLATES {
        hide_templates(shown.pointer_mut(place));
    }
    shown
}

/// The parts of a value at these paths, such as `spec.containers[].name`. A path that ends shows all that is below it.
pub(super) fn only(value: &Value, paths: &[&str]) -> Value {
    let mut shown = Map::new();
    let heads = paths.iter().map(|path| path.split_once('.').unwrap_or((path, "")).0);
    let mut heads: Vec<&str> = heads.collect();
    heads.dedup();
    for head in heads {
        let below: Vec<&str> = paths
            .iter()
            .filter_map(|path| path.strip_prefix(head)?.strip_prefix('.'))
            .collect();
        let part = |value: &Value| {
            if below.is_empty() {
                value.clone()
            } else {
                only(value, &below)
            }
        };
        let (key, is_list) = head.strip_suffix("[]").map_or((head, false), |key| (key, true));
        match value.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) if is_list => {
                shown.insert(key.to_owned(), items.iter().map(part).collect());
            }
            Some(_) if is_list => {}
            Some(found) => {
                shown.insert(key.to_owned(), part(found));
            }
        }
    }
    Value::Object(shown)
}

/// Leaves out the values of annotations, and keeps their keys.
fn hide(annotations: Option<&mut Value>) {
    for (key, value) in annotations.and_then(Value::as_object_mut).into_iter().flatten() {
        *value = shown(key, value.as_str().unwrap_or_default());
    }
}

fn hide_templates(templates: Option<&mut Value>) {
    for template in templates.and_then(Value::as_array_mut).into_iter().flatten() {
        hide(template.pointer_mut("/metadata/annotations"));
    }
}

/// The value of an annotation, or what stands for it.
fn shown(key: &str, value: &str) -> Value {
    let user_key = USER_KEYS.iter().find(|known| known.key == key);
    let is_shown = match key {
        keys::STAGED => return staged(value),
        keys::PHASE | keys::READY | keys::STAGED_AT | keys::WITHDRAW | keys::MODIFIED | keys::RETRY => {
            value.len() <= 256
        }
        _ => SHOWN.contains(&key) || user_key.is_some_and(|known| known.values.allow(value)),
    };
    Value::from(if is_shown { value } else { LEFT_OUT })
}

/// A staged change without the annotations of its templates.
fn staged(text: &str) -> Value {
    let Ok(change) = serde_json::from_str::<Value>(text) else {
        return json!(format!("{LEFT_OUT}: no JSON, {} bytes", text.len()));
    };
    let mut shown = only(&change, STAGED);
    hide_templates(shown.pointer_mut("/templates"));
    json!(shown.to_string())
}
