//! The volumes that Pods mount. Each template of a StatefulSet adds a volume of its name to the Pods.

use crate::json::Value;

/// True iff a container mounts the volume of this name, and the spec of the Pods has no volume of that name itself.
#[must_use]
pub fn mounts_without_volume(spec: &Value, name: &str) -> bool {
    let mounts =
        |container: &Value| names_one(container, "volumeMounts", name) || names_one(container, "volumeDevices", name);
    let mut lists = ["containers", "initContainers"].into_iter();
    lists.any(|list| items(spec, list).iter().any(mounts)) && !names_one(spec, "volumes", name)
}

fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    let items = value.as_object().and_then(|fields| fields.get(key)?.as_array());
    items.unwrap_or_default()
}

/// True iff an item of the list has this name.
fn names_one(value: &Value, list: &str, name: &str) -> bool {
    let is_it = |item: &Value| item.as_object().and_then(|fields| fields.get("name")?.as_str()) == Some(name);
    items(value, list).iter().any(is_it)
}
