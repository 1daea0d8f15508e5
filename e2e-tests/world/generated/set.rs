//! A valid StatefulSet in many shapes, as the API server sends it.

use serde_json::{Map, Value, json};

use super::choices::Choices;
use super::values::{NAMESPACE, SET, TEXTS, UID, key, small_size};

/// The names of templates.
pub(crate) const TEMPLATES: [&str; 4] = ["data", "logs", "wal.v2", "data-1"];

/// A StatefulSet without annotations of ours.
pub(crate) fn set(choices: &mut dyn Choices) -> Value {
    let mut metadata = json!({
        "name": SET, "namespace": NAMESPACE, "uid": UID, "resourceVersion": "812345", "generation": 7,
        "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": SET},
    });
    if choices.one_in(3) {
        metadata["annotations"] = match choices.below(4) {
            0 => json!({"example.com/note": "hello"}),
            1 => json!({}),
            2 => Value::Null,
            _ => json!({"": "", "a/b": "{\"c\":[1]}", "é": "\u{1f600}"}),
        };
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata,
        "spec": spec(choices),
        "status": {"replicas": 3, "currentRevision": "web-5d8f6c7b9", "updateRevision": "web-5d8f6c7b9"},
    })
}

fn spec(choices: &mut dyn Choices) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": SET}},
        "serviceName": SET,
        "template": {
            "metadata": {"labels": {"app": SET}},
            "spec": {"containers": [{"name": "app", "image": "example/app:1", "args": [], "futureField": {"x": null}}]},
        },
    });
    match choices.below(6) {
        0 => spec["replicas"] = json!(3),
        1 => spec["replicas"] = json!(0),
        2 => spec["replicas"] = Value::Null,
        3 => spec["replicas"] = json!(5000),
        _ => {}
    }
    if choices.one_in(2) {
        spec["updateStrategy"] = strategy(choices);
    }
    if choices.one_in(4) {
        spec["persistentVolumeClaimRetentionPolicy"] = retention(choices);
    }
    if choices.one_in(4) {
        spec["ordinals"] = json!({"start": choices.below(4)});
    }
    if choices.one_in(4) {
        spec["podManagementPolicy"] = json!("Parallel");
    }
    match choices.below(12) {
        10 => spec["volumeClaimTemplates"] = json!([]),
        11 => {}
        _ => {
            let count = 1 + choices.below(3);
            let templates = TEMPLATES.iter().take(count);
            spec["volumeClaimTemplates"] = templates.map(|name| template(name, choices)).collect();
        }
    }
    spec
}

/// `spec.updateStrategy`
pub(crate) fn strategy(choices: &mut dyn Choices) -> Value {
    match choices.below(8) {
        0 => json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        1 => json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2, "maxUnavailable": "50%"}}),
        2 => json!({"type": "RollingUpdate"}),
        3 => json!({"rollingUpdate": {"partition": 3}, "type": "RollingUpdate"}),
        4 => json!({"type": "OnDelete"}),
        5 => json!({"type": "RollingUpdate", "rollingUpdate": null}),
        6 => json!({"type": "RollingUpdate", "rollingUpdate": {}}),
        _ => Value::Null,
    }
}

/// `spec.persistentVolumeClaimRetentionPolicy`
pub(crate) fn retention(choices: &mut dyn Choices) -> Value {
    let values = ["Retain", "Delete"];
    json!({"whenScaled": choices.pick(&values), "whenDeleted": choices.pick(&values)})
}

/// One claim template, with or without the fields that the API server adds.
fn template(name: &str, choices: &mut dyn Choices) -> Value {
    let mut metadata = json!({"name": name});
    if choices.one_in(4) {
        metadata["labels"] = strings(choices);
    }
    if choices.one_in(4) {
        metadata["annotations"] = strings(choices);
    }
    let mut spec =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": small_size(choices)}}});
    if choices.one_in(2) {
        spec["storageClassName"] = json!(*choices.pick(&["fast", "slow", ""]));
    }
    if choices.one_in(3) {
        spec["volumeAttributesClassName"] = json!(*choices.pick(&["gold", "silver", ""]));
    }
    if choices.one_in(8) {
        spec["selector"] = json!({"matchLabels": {"disk": "ssd"}});
    }
    if choices.one_in(8) {
        spec["resources"]["limits"] = json!({"storage": "1Ti", "example.com/iops": "1k"});
    }
    let mut template = json!({"metadata": metadata, "spec": spec});
    if choices.one_in(2) {
        serve(&mut template);
    }
    template
}

/// Adds the fields that the API server adds to a template; none of them is a change.
pub(crate) fn serve(template: &mut Value) {
    put(template, "/apiVersion", json!("v1"));
    put(template, "/kind", json!("PersistentVolumeClaim"));
    put(template, "/status", json!({"phase": "Pending"}));
    put(template, "/metadata/creationTimestamp", Value::Null);
    put(template, "/spec/volumeMode", json!("Filesystem"));
}

/// Labels or annotations.
fn strings(choices: &mut dyn Choices) -> Value {
    let mut strings = Map::new();
    for _ in 0..=choices.below(3) {
        strings.insert(key(choices).to_owned(), json!(*choices.pick(&TEXTS[..4])));
    }
    Value::Object(strings)
}

/// The templates of a StatefulSet, if they are a list.
pub(crate) fn templates_mut(set: &mut Value) -> Option<&mut Vec<Value>> {
    set.get_mut("spec")?.get_mut("volumeClaimTemplates")?.as_array_mut()
}

/// Sets an annotation; creates the map if there is none.
pub(crate) fn annotate(set: &mut Value, key: &str, value: &str) {
    let key = key.replace('/', "~1");
    put(set, &format!("/metadata/annotations/{key}"), json!(value));
}

/// Sets the value at a JSON pointer: `null` on the way becomes an object; any other value that is no object stops it.
pub(crate) fn put(value: &mut Value, pointer: &str, new: Value) {
    let mut here = value;
    for key in pointer.split('/').skip(1) {
        if here.is_null() {
            *here = json!({});
        }
        let Value::Object(fields) = here else {
            return;
        };
        here = fields.entry(key.replace("~1", "/")).or_insert(Value::Null);
    }
    *here = new;
}
