//! The edits of an UPDATE of a StatefulSet, from none to nonsense.

use serde_json::{Value, json};

use super::choices::Choices;
use super::forged::forged;
use super::set::{TEMPLATES, annotate, put, retention, serve, strategy, templates_mut};
use super::values::{TEXTS, key, odd_size, size, trouble};

/// The inputs of the edits of one review.
pub(crate) struct EditContext {
    /// The staged change of the old StatefulSet: its templates and its annotation.
    pub(crate) staged: Option<(Value, String)>,
    /// `options.fieldManager`
    pub(crate) manager: &'static str,
}

/// Makes one edit of the new StatefulSet.
pub(crate) fn edit(set: &mut Value, context: &mut EditContext, choices: &mut dyn Choices) {
    match choices.below(24) {
        1..=7 => of_templates(set, choices),
        8..=9 => of_our_keys(set, context, choices),
        10..=11 => ask_for_the_staged(set, context),
        12 => withdraw(set, context, choices),
        13..=14 => of_the_staged_change(set, context, choices),
        15..=18 => of_the_rest(set, choices),
        19 => of_the_shape(set, choices),
        20..=21 => of_the_strategy(set, choices),
        _ => {}
    }
}

/// Templates are changed, added, removed and reordered.
fn of_templates(set: &mut Value, choices: &mut dyn Choices) {
    let Some(templates) = templates_mut(set) else {
        return put(
            set,
            "/spec/volumeClaimTemplates",
            json!([{"metadata": {"name": "data"}}]),
        );
    };
    match choices.below(16) {
        11 => templates.reverse(),
        12 => drop(templates.pop()),
        13 => {
            let name = *choices.pick(&TEMPLATES);
            templates.push(json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]}}));
        }
        14 => {
            if let Some(template) = templates.first_mut() {
                let name = *choices.pick(&["", "Data", "logs", "a_b", "x\u{202e}y"]);
                put(template, "/metadata/name", json!(name));
            }
        }
        15 => put(set, "/spec/volumeClaimTemplates", trouble(choices)),
        _ => of_template(templates, choices),
    }
}

/// One template changes, mostly in fields that may change.
pub(crate) fn of_template(templates: &mut [Value], choices: &mut dyn Choices) {
    if templates.is_empty() {
        return;
    }
    let index = choices.below(templates.len());
    let template = &mut templates[index];
    let (path, value) = match choices.below(16) {
        0..=4 => ("/spec/resources/requests/storage", size(choices)),
        5 => ("/spec/resources/requests/storage", odd_size(choices)),
        6 => {
            let class = *choices.pick(&["gold", "silver", "", "é"]);
            ("/spec/volumeAttributesClassName", json!(class))
        }
        7..=8 => ("/metadata/labels", json!({key(choices): *choices.pick(&TEXTS)})),
        9..=10 => ("/metadata/annotations", json!({key(choices): *choices.pick(&TEXTS)})),
        11 => return serve(template),
        12 => (
            "/metadata/annotations",
            json!({"long": "y".repeat(choices.below(10_000))}),
        ),
        13 => {
            // Absent, null and empty are equal, except for strings.
            let part = *choices.pick(&["/metadata/labels", "/metadata/annotations", "/metadata/finalizers"]);
            (part, choices.pick(&[Value::Null, json!({})]).clone())
        }
        14 => frozen(choices),
        _ => {
            let part = *choices.pick(&[
                "/metadata",
                "/spec",
                "/spec/resources",
                "/spec/resources/requests",
                "/metadata/labels",
            ]);
            if let Some(part) = template.pointer_mut(part) {
                *part = trouble(choices);
            }
            return;
        }
    };
    put(template, path, value);
}

/// Fields that may not change.
fn frozen(choices: &mut dyn Choices) -> (&'static str, Value) {
    match choices.below(8) {
        0 => ("/spec/storageClassName", json!(*choices.pick(&["slow", "fast", ""]))),
        1 => ("/spec/accessModes", json!(["ReadWriteMany"])),
        2 => ("/spec/volumeMode", json!("Block")),
        3 => ("/spec/selector", json!({"matchLabels": {"disk": "hdd"}})),
        4 => {
            let source = json!({"kind": "VolumeSnapshot", "name": "x", "apiGroup": "snapshot.storage.k8s.io"});
            ("/spec/dataSource", source)
        }
        5 => ("/spec/resources/limits", json!({"storage": odd_size(choices)})),
        6 => ("/metadata/finalizers", json!(["example.com/keep"])),
        _ => ("/unknown", json!(1)),
    }
}

/// The annotations of users, and those that users should not write.
fn of_our_keys(set: &mut Value, context: &EditContext, choices: &mut dyn Choices) {
    let revision = context.staged.as_ref().and_then(|(_, change)| {
        let change: Value = serde_json::from_str(change).ok()?;
        Some(change["revision"].as_str()?.to_owned())
    });
    let odd = *choices.pick(&TEXTS);
    let (key, values) = match choices.below(8) {
        0..=1 => (
            "update-policy",
            vec!["InPlace", "OnClaimDelete", "OnDelete", "ReCreate", odd],
        ),
        2 => ("sync", vec!["LockStep", "Async", odd]),
        3 => ("paused", vec!["true", "false", odd]),
        4 => ("withdraw", vec![revision.as_deref().unwrap_or("x"), odd]),
        5 => ("ready", vec!["x.0", "x.2", odd]),
        6 => ("phase", vec!["Staged", "Complete", odd]),
        _ => ("replace-set", vec!["Never", "WhenComplete", odd]),
    };
    let value = *choices.pick(&values);
    annotate(set, &format!("claim-rollout.io/{key}"), value);
}

/// The request asks for the staged templates again.
fn ask_for_the_staged(set: &mut Value, context: &EditContext) {
    if let Some((templates, _)) = &context.staged {
        put(set, "/spec/volumeClaimTemplates", templates.clone());
    }
}

/// The request withdraws: by client-side apply, or by server-side apply.
fn withdraw(set: &mut Value, context: &mut EditContext, choices: &mut dyn Choices) {
    let templates = &set["spec"]["volumeClaimTemplates"];
    if choices.one_in(2) {
        let last = json!({"spec": {"volumeClaimTemplates": templates}}).to_string();
        annotate(set, "kubectl.kubernetes.io/last-applied-configuration", &last);
        return;
    }
    context.manager = "helm";
    let owned = if choices.one_in(3) {
        json!({"f:spec": {"f:replicas": {}}})
    } else {
        json!({"f:spec": {"f:volumeClaimTemplates": {}}})
    };
    let entry = json!([{
        "manager": *choices.pick(&["helm", "kubectl"]), "operation": *choices.pick(&["Apply", "Update"]),
        "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": owned,
        "time": *choices.pick(&["2026-01-02T03:04:05Z", "2026-02-02T03:04:05Z"]),
    }]);
    put(set, "/metadata/managedFields", entry);
}

/// The staged change is removed, or a user writes one.
fn of_the_staged_change(set: &mut Value, context: &EditContext, choices: &mut dyn Choices) {
    let change = context.staged.as_ref().map_or("{}", |(_, change)| change);
    if choices.one_in(3) {
        if let Some(Value::Object(annotations)) = set.pointer_mut("/metadata/annotations") {
            annotations.remove("claim-rollout.io/staged");
        }
        return;
    }
    annotate(set, "claim-rollout.io/staged", &forged(change, choices));
}

/// Fields that do not concern PVCs.
fn of_the_rest(set: &mut Value, choices: &mut dyn Choices) {
    let (path, value) = match choices.below(9) {
        0..=1 => {
            let containers = json!([{"name": "app", "image": "example/app:2"}]);
            ("/spec/template/spec/containers", containers)
        }
        2 => ("/spec/replicas", json!(*choices.pick(&[3, 1, 5, 0]))),
        3 => ("/metadata/labels", json!({key(choices): *choices.pick(&TEXTS)})),
        4 => return annotate(set, "example.com/note", choices.word(&TEXTS)),
        5 => ("/spec/persistentVolumeClaimRetentionPolicy", retention(choices)),
        6 => ("/futureField", trouble(choices)),
        7 => {
            let finalizers = json!(["example.com/wait", "claim-rollout.io/replacing"]);
            ("/metadata/finalizers", finalizers)
        }
        _ => ("/status", trouble(choices)),
    };
    put(set, path, value);
}

/// The update strategy.
fn of_the_strategy(set: &mut Value, choices: &mut dyn Choices) {
    let strategy = if choices.one_in(2) {
        strategy(choices)
    } else {
        let partition = choices.pick(&[0, 1, 3, -1, 1_000_000_000, i64::MAX]);
        json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}})
    };
    put(set, "/spec/updateStrategy", strategy);
}

/// The object does not match the request, or is broken.
fn of_the_shape(set: &mut Value, choices: &mut dyn Choices) {
    let paths = [
        "/metadata/name",
        "/metadata/namespace",
        "/apiVersion",
        "/kind",
        "/metadata/annotations",
        "/metadata/uid",
        "/metadata/ownerReferences",
        "/spec/replicas",
        "/spec/updateStrategy",
        "/metadata",
        "/spec",
    ];
    let (parent, key) = choices.pick(&paths).rsplit_once('/').unwrap_or_default();
    let Some(Value::Object(parent)) = set.pointer_mut(parent) else {
        return;
    };
    let value = match (key, choices.below(3)) {
        ("ownerReferences", 0) => json!([{"kind": "Database", "name": "x", "controller": true}]),
        ("apiVersion", 0) => json!("apps/v1beta1"),
        (_, 1) => {
            parent.remove(key);
            return;
        }
        _ => trouble(choices),
    };
    parent.insert(key.to_owned(), value);
}
