//! Volumes that a Pod template mounts before they exist.
//!
//! The live templates stay until the set is replaced, and the API server denies a Pod template that mounts a volume of
//! none of them: with 422, on which some tools delete the set (Kubernetes 1.37, not yet 1.33: `ValidateStatefulSetSpec` in
//! `pkg/apis/apps/validation`).

use super::review::Object;
use crate::json::{self, Value};
use crate::templates::{ClaimTemplate, StagedChange};

/// The first added template whose volume the Pod template mounts and does not have itself. The API server judges a Pod
/// template that cannot be read.
pub(super) fn too_early<'c>(set: &Object<'_>, live: &[ClaimTemplate], change: &'c StagedChange) -> Option<&'c str> {
    let is_live = |name: &str| live.iter().any(|template| template.name == name);
    let names = change.templates.iter().map(|template| &*template.name);
    let mut added = names.filter(|name| !is_live(name)).peekable();
    added.peek()?;
    let pod = json::read(set.spec.pod_template?).ok()?;
    let spec = field(&pod, "spec")?;
    added.find(|name| {
        let mounts = |container: &Value| {
            names_one(container, "volumeMounts", name) || names_one(container, "volumeDevices", name)
        };
        let mut lists = ["containers", "initContainers"].into_iter();
        lists.any(|list| items(spec, list).iter().any(mounts)) && !names_one(spec, "volumes", name)
    })
}

fn field<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(key),
        _ => None,
    }
}

fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    field(value, key).and_then(Value::as_array).unwrap_or_default()
}

/// True iff an item of the list has this name.
fn names_one(value: &Value, list: &str, name: &str) -> bool {
    let mut items = items(value, list).iter();
    items.any(|item| field(item, "name").and_then(Value::as_str) == Some(name))
}
