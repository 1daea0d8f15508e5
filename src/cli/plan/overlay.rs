//! Lays a manifest over the live object, as `kubectl apply` does.
//!
//! Takes `metadata.labels`, `metadata.annotations` and `spec` from the manifest. Fields that the manifest does not name
//! stay as they are, unless the last applied manifest named them: kubectl removes those. Lists with a merge key are
//! merged, all others are replaced, also `volumeClaimTemplates`.
//!
//! Adds neither the defaults of the API server for new fields nor the changes of other admission plugins.

use serde_json::{Map, Value};

use crate::templates::Quantity;

/// The annotation with the manifest that client-side apply applied last.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The lists of a set that are merged, and the merge key of their items (`patchMergeKey` in the API's types).
const MERGED: [(&str, &str); 13] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("ephemeralContainers", "name"),
    ("volumes", "name"),
    ("env", "name"),
    ("imagePullSecrets", "name"),
    ("ports", "containerPort"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("topologySpreadConstraints", "topologyKey"),
    ("hostAliases", "ip"),
    ("resourceClaims", "name"),
    ("schedulingGates", "name"),
];

/// Maps of quantities, which the API server may spell differently.
const QUANTITIES: [&str; 2] = ["limits", "requests"];

/// The live object with the manifest laid over it.
pub(crate) fn apply(live: &Value, manifest: &Value) -> Value {
    let last = last_applied(live);
    let last = last.as_ref();
    let mut asked = live.clone();
    for pointer in ["/metadata/labels", "/metadata/annotations", "/spec"] {
        let part = |object: Option<&Value>| object.and_then(|object| object.pointer(pointer)).cloned();
        let before = part(Some(live)).unwrap_or_else(empty);
        let wanted = part(Some(manifest)).unwrap_or_else(empty);
        let merged = merge(pointer, &before, &wanted, part(last).as_ref());
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
        if let Some(parent) = asked.pointer_mut(parent).and_then(Value::as_object_mut)
            && (parent.contains_key(key) || merged != empty())
        {
            parent.insert(key.to_owned(), merged);
        }
    }
    asked
}

/// The manifest that client-side apply applied last.
pub(crate) fn last_applied(live: &Value) -> Option<Value> {
    let text = live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
    serde_json::from_str(text).ok()
}

/// Writes the manifest to the annotation of client-side apply.
pub(crate) fn set_last_applied(object: &mut Value, manifest: &Value) {
    let annotations = &mut object["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = empty();
    }
    annotations[LAST_APPLIED] = format!("{manifest}\n").into();
}

fn empty() -> Value {
    Value::Object(Map::new())
}

fn merge(field: &str, live: &Value, wanted: &Value, last: Option<&Value>) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            Value::Object(merge_objects(field, live, wanted, last.and_then(Value::as_object)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            let key = MERGED.iter().find(|(list, _)| *list == field).map(|(_, key)| *key);
            let last = last.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let merged = key.and_then(|key| merge_lists(key, live, wanted, last));
            Value::Array(merged.unwrap_or_else(|| wanted.clone()))
        }
        _ => without_nulls(wanted),
    }
}

fn merge_objects(
    field: &str,
    live: &Map<String, Value>,
    wanted: &Map<String, Value>,
    last: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (key, value) in live {
        match wanted.get(key) {
            Some(Value::Null) => {}
            Some(new) if is_same_amount(field, value, new) => _ = merged.insert(key.clone(), value.clone()),
            Some(new) => {
                _ = merged.insert(key.clone(), merge(key, value, new, last.and_then(|last| last.get(key))));
            }
            None if last.is_some_and(|last| last.contains_key(key)) => {}
            None => _ = merged.insert(key.clone(), value.clone()),
        }
    }
    for (key, value) in wanted {
        if !value.is_null() && !live.contains_key(key) {
            merged.insert(key.clone(), without_nulls(value));
        }
    }
    merged
}

/// Merges items of both lists in the order of the manifest, at the positions of the live ones. None if an item has no
/// key.
fn merge_lists(key: &str, live: &[Value], wanted: &[Value], last: &[Value]) -> Option<Vec<Value>> {
    let find = |list: &'_ [Value], item: &Value| list.iter().position(|other| other[key] == item[key]);
    if wanted.iter().chain(live).any(|item| item[key].is_null()) {
        return None;
    }
    let mut known = wanted.iter().filter(|item| find(live, item).is_some());
    let mut merged = Vec::new();
    for item in live {
        if find(wanted, item).is_some() {
            let next = known.next()?;
            let before = &live[find(live, next)?];
            merged.push(merge("", before, next, find(last, next).map(|at| &last[at])));
        } else if find(last, item).is_none() {
            merged.push(item.clone());
        }
    }
    let new = wanted.iter().filter(|item| find(live, item).is_none());
    merged.extend(new.map(without_nulls));
    Some(merged)
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}

fn is_same_amount(field: &str, live: &Value, wanted: &Value) -> bool {
    let amount = |value: &Value| match value {
        Value::String(text) => text.parse::<Quantity>().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    QUANTITIES.contains(&field) && amount(live).is_some_and(|live| Some(live) == amount(wanted))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LAST_APPLIED, apply, set_last_applied};

    fn live() -> Value {
        json!({
            "metadata": {"name": "web", "uid": "u", "annotations": {"claim-rollout.io/update-policy": "InPlace", "other": "1"}},
            "spec": {
                "replicas": 3,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
                "template": {"spec": {
                    "containers": [
                        {"name": "injected", "image": "i"},
                        {"name": "main", "image": "m:1", "terminationMessagePath": "/dev/termination-log",
                         "resources": {"requests": {"cpu": "500m"}}},
                    ],
                    "restartPolicy": "Always",
                }},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "status": {"phase": "Pending"}}],
            },
            "status": {"replicas": 3},
        })
    }

    #[test]
    fn apply_of_unchanged_manifest_changes_nothing() {
        let manifest = json!({
            "metadata": {"name": "web", "creationTimestamp": null, "annotations": {"other": "1"}},
            "spec": {
                "replicas": 3,
                "template": {"spec": {"containers": [
                    {"name": "main", "image": "m:1", "resources": {"requests": {"cpu": 0.5}}, "args": null},
                ]}},
            },
            "status": {"replicas": 9},
        });
        assert_eq!(apply(&live(), &manifest), live());
    }

    #[test]
    fn apply_takes_fields_and_replaces_keyless_lists() {
        let manifest = json!({
            "metadata": {"labels": {"tier": "a"}},
            "spec": {
                "replicas": 5,
                "updateStrategy": {"rollingUpdate": {"partition": 0}},
                "template": {"spec": {"containers": [{"name": "main", "image": "m:2"}, {"name": "new", "args": null}]}},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            },
        });
        let mut expected = live();
        expected["metadata"]["labels"] = json!({"tier": "a"});
        expected["spec"]["replicas"] = json!(5);
        expected["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(0);
        expected["spec"]["template"]["spec"]["containers"][1]["image"] = json!("m:2");
        let containers = expected["spec"]["template"]["spec"]["containers"].as_array_mut();
        containers.expect("a list").push(json!({"name": "new"}));
        expected["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
        assert_eq!(apply(&live(), &manifest), expected);
    }

    #[test]
    fn apply_removes_fields_dropped_from_the_manifest() {
        let mut live = live();
        let applied = json!({
            "metadata": {"annotations": {"claim-rollout.io/update-policy": "InPlace"}},
            "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "injected"}, {"name": "main"}]}}},
        });
        set_last_applied(&mut live, &applied);
        let asked = apply(
            &live,
            &json!({"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}),
        );
        let annotations = asked["metadata"]["annotations"].as_object().expect("annotations");
        assert_eq!(annotations.keys().collect::<Vec<_>>(), [LAST_APPLIED, "other"]);
        assert_eq!(asked["spec"]["replicas"], Value::Null);
        let mut containers = live["spec"]["template"]["spec"]["containers"].clone();
        containers.as_array_mut().expect("a list").remove(0);
        assert_eq!(asked["spec"]["template"]["spec"]["containers"], containers);
    }

    #[test]
    fn apply_merges_lists_in_manifest_order() {
        let live = json!({"spec": {"volumes": [{"name": "x"}, {"name": "a", "v": 1}, {"name": "b"}]}});
        let manifest = json!({"spec": {"volumes": [{"name": "b"}, {"name": "a"}]}});
        let expected = json!([{"name": "x"}, {"name": "b"}, {"name": "a", "v": 1}]);
        assert_eq!(apply(&live, &manifest)["spec"]["volumes"], expected);
    }
}
