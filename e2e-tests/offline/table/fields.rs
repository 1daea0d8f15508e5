//! Every field of a PersistentVolumeClaimSpec and of the ObjectMeta of a template, from the API's own list: set,
//! changed, removed and emptied, under each update policy. A field of a later API is included automatically, as one
//! that may not change.

use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::case::{Case, update};
use super::objects::{Object, web};

/// The fields that may change by KEP-4650.
const ALLOWED: [&str; 3] = ["metadata.annotations", "metadata.labels", "spec.volumeAttributesClassName"];
/// Fields that the API server writes, or that are not compared; and the name, which matches templates.
const NO_DIFFERENCE: [&str; 1] = ["metadata.creationTimestamp"];
const NAME: &str = "metadata.name";
/// Maps of quantities, one amount of which may grow.
const AMOUNTS: [&str; 2] = ["spec.resources.limits", "spec.resources.requests"];
/// Objects that are pointers in the API: an empty one is a value.
pub(super) const POINTERS: [&str; 3] = ["spec.dataSource", "spec.dataSourceRef", "spec.selector"];
/// The update policies and the values of the setting `immutableFields`.
const WAYS: [(&str, &str); 5] =
    [("OnClaimDelete", "Deny"), ("InPlace", "Deny"), ("ReCreate", "Deny"), ("OnClaimDelete", "NewPVCs"), ("InPlace", "NewPVCs")];

/// True iff the field may change for new PVCs.
fn is_for_new_claims(path: &str) -> bool {
    let name = path.strip_prefix("spec.").and_then(|rest| rest.split('.').next()).unwrap_or_default();
    ["accessModes", "dataSource", "dataSourceRef", "selector", "storageClassName", "volumeMode"].contains(&name)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, kind) in leaves() {
        if path != NAME && !path.starts_with(AMOUNTS[1]) {
            cases.extend(field(&path, &values(&path, &kind)));
        }
    }
    for pointer in POINTERS {
        cases.extend(field(pointer, &[json!({}), json!({"name": "a"})]));
    }
    for unknown in ["spec.fieldOfTheFuture", "metadata.fieldOfTheFuture"] {
        for values in [
            [json!("a"), json!("b")],
            [json!(1), json!(2)],
            [json!([1]), json!([2])],
            [json!({"a": 1}), json!({"a": 2})],
            [json!(false), json!(true)],
        ] {
            cases.extend(field(unknown, &values));
        }
    }
    cases.extend(requests());
    cases.extend(tops());
    cases
}

/// The paths of all fields below a template that are no objects themselves, and their types.
pub(super) fn leaves() -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    walk("metadata", &schema::<ObjectMeta>(), &mut leaves);
    walk("spec", &schema::<PersistentVolumeClaimSpec>(), &mut leaves);
    leaves
}

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn walk(path: &str, schema: &Value, leaves: &mut Vec<(String, String)>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, schema) in properties {
            walk(&format!("{path}.{name}"), schema, leaves);
        }
        return;
    }
    leaves.push((path.to_owned(), schema["type"].as_str().unwrap_or_default().to_owned()));
}

/// Two values of a field's type.
fn values(path: &str, kind: &str) -> [Value; 2] {
    match (path, kind) {
        ("spec.volumeMode", _) => [json!("Block"), json!("Tape")],
        ("spec.resources.limits", _) => [json!({"storage": "90Gi"}), json!({"storage": "91Gi"})],
        ("spec.selector.matchExpressions", _) => [json!([{"key": "a", "operator": "Exists"}]), json!([{"key": "a", "operator": "DoesNotExist"}])],
        (_, "array") => [json!(["a"]), json!(["b"])],
        (_, "object") => [json!({"k": "a"}), json!({"k": "b"})],
        (_, "integer") => [json!(1), json!(2)],
        (_, "boolean") => [json!(false), json!(true)],
        _ => [json!("a"), json!("b")],
    }
}

/// One field: from absent to a value, from one value to another, from a value to absent; and values that equal an
/// absent one.
fn field(path: &str, [one, other]: &[Value; 2]) -> Vec<Case> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let base = web_around(path);
    let with = |value: &Value| base.clone().data(&pointer, value.clone());
    let without = base.clone().data(&pointer, Value::Null);
    let mut cases = Vec::new();
    for (policy, immutable) in WAYS {
        let row = |what: &str, old: &Object, new: &Object| {
            let sentence = format!("{path} {what} under {policy}, immutableFields {immutable}: {one} {other}");
            let case = update("U3", sentence, &old.clone().policy(policy), &new.clone().policy(policy));
            case.settings(json!({"allowReCreate": true, "immutableFields": immutable}))
        };
        for (what, old, new) in [("is set", &without, &with(one)), ("changes", &with(one), &with(other)), ("goes", &with(one), &without)] {
            cases.push(row(what, old, new).expects(expected(path, what, policy, immutable)));
        }
        // `null`, empty lists and empty maps equal an absent field. An empty text is a value, and so is the object of a
        // pointer.
        let empty = match other {
            Value::Array(_) => Some(json!([])),
            Value::Object(_) if !POINTERS.contains(&path) => Some(json!({})),
            _ => None,
        };
        let empty = empty.map(|empty| with(&empty));
        cases.extend(empty.map(|empty| row("is set to an empty value", &without, &empty).expects("mutate templates")));
    }
    let absent = base.clone().without(&format!("/spec/volumeClaimTemplates/0{pointer}"));
    if absent != without && base.0.pointer(&format!("/spec/volumeClaimTemplates/0{pointer}")).is_some() {
        cases.push(update("U0", format!("{path} goes where it was null"), &without, &absent).expects("mutate templates"));
    }
    cases
}

/// `web` with the fields that this field needs, so that it can be added and removed alone.
fn web_around(path: &str) -> Object {
    let around = POINTERS.iter().find(|pointer| path.strip_prefix(**pointer).is_some_and(|rest| rest.starts_with('.')));
    match around {
        Some(pointer) => {
            web().data(&format!("/{}/fieldOfTheFuture", pointer.replace('.', "/")), 1).data(&format!("/{}", path.replace('.', "/")), Value::Null)
        }
        None => web().data(&format!("/{}", path.replace('.', "/")), Value::Null),
    }
}

fn expected(path: &str, what: &str, policy: &str, immutable: &str) -> String {
    if NO_DIFFERENCE.contains(&path) {
        return "mutate templates".to_owned();
    }
    let for_new = is_for_new_claims(path);
    let staged = format!("mutate templates staged:{policy} warns \"claim-rollout: staged data \"");
    if for_new && immutable == "NewPVCs" {
        return format!("{staged} \"for new PVCs only: data spec.\"");
    }
    if ALLOWED.contains(&path) || (for_new && policy == "ReCreate") {
        return staged;
    }
    let setting = if for_new { "\"immutableFields: NewPVCs\"" } else { "" };
    let found = match what {
        "goes" => "but found nothing",
        "is set" => "cannot change, expected nothing",
        _ => "cannot change, expected ",
    };
    format!("deny 403 \"spec.volumeClaimTemplates[data].{path}\" \"{found}\" \"allowed changes: spec.resources.requests.storage\" {setting}")
}

/// `spec.resources.requests`: one amount may grow, all others may not change.
fn requests() -> Vec<Case> {
    let other = |value: &str| web().data("/spec/resources/requests/example.com~1iops", value);
    let path = "[data].spec.resources.requests.example.com/iops: cannot change";
    let fault = |fault: &str| format!("[data].spec.resources.requests.storage: {fault}");
    let mut cases = Vec::new();
    for (policy, immutable) in WAYS {
        let row = |sentence: &str, old: Object, new: Object, refused: &str| {
            let sentence = format!("{sentence} under {policy}, immutableFields {immutable}");
            let case = update("U3", sentence, &old.policy(policy), &new.policy(policy));
            let staged = format!("mutate templates staged:{policy} warns \"claim-rollout: staged data \"");
            let shrinks = refused.contains("shrink");
            let expected = match refused {
                "" => staged,
                _ if shrinks && policy == "ReCreate" => staged,
                _ if shrinks && immutable == "NewPVCs" => format!("{staged} \"for new PVCs only: data 10Gi -> 9Gi; existing PVCs keep what they have\""),
                _ => format!("deny 403 \"{refused}\""),
            };
            case.settings(json!({"allowReCreate": true, "immutableFields": immutable})).expects(expected)
        };
        cases.extend([
            row("spec.resources.requests grows", web(), web().size("11Gi"), ""),
            row("spec.resources.requests shrinks", web(), web().size("9Gi"), &fault("cannot shrink, expected at least 10Gi, but found 9Gi")),
            row("spec.resources.requests goes", web(), web().data("/spec/resources/requests", Value::Null), &fault("cannot be removed")),
            row("spec.resources.requests comes", web().data("/spec/resources", json!({})), web(), ""),
            row("spec.resources.requests of something else is set", web(), other("1"), path),
            row("spec.resources.requests of something else changes", other("1"), other("2"), path),
            row("spec.resources.requests of something else goes", other("1"), web(), path),
            row("metadata.name changes", web(), web().data("/metadata/name", "b"), "[data]: a template cannot be removed or renamed"),
        ]);
        let spelt = update(
            "U0",
            format!("spec.resources.requests of something else in another spelling under {policy}, immutableFields {immutable}"),
            &other("1k").policy(policy),
            &other("1000").policy(policy),
        );
        cases.push(spelt.settings(json!({"allowReCreate": true})).expects("mutate templates"));
    }
    cases
}

/// The template itself: fields that the API server adds are no difference, but the API server denies other ones, so that
/// the live ones are put back; there are no other fields.
fn tops() -> Vec<Case> {
    let top = |sentence: &str, pointer: &str, value: Value, expected: &str| {
        update("U0", sentence, &web(), &web().data(pointer, value)).expects(expected)
    };
    let odd = |sentence: &str, pointer: &str, value: Value, fault: &str| {
        let path = pointer.replace('/', ".");
        top(sentence, pointer, value, &format!("deny 403 \"spec.volumeClaimTemplates[0]{path}: {fault}\""))
    };
    let no_such_field = "deny 403 \"request.object: spec.volumeClaimTemplates[0].data: expected no such field\"";
    let no_text = "deny 403 \"spec.volumeAttributesClassName: expected a string\"";
    vec![
        top("apiVersion of a template", "/apiVersion", json!("v2"), "mutate templates"),
        top("kind of a template", "/kind", json!("Claim"), "mutate templates"),
        top("status of a template", "/status", json!({"phase": "Lost", "conditions": []}), "mutate templates"),
        top("an unknown part of a template", "/data", json!({}), no_such_field),
        odd("metadata of the wrong type", "/metadata", json!([]), "expected an object"),
        odd("a spec of the wrong type", "/spec", json!("x"), "expected an object"),
        odd("resources of the wrong type", "/spec/resources", json!([]), "expected an object"),
        odd("requests of the wrong type", "/spec/resources/requests", json!(["10Gi"]), "expected an object"),
        odd("labels of the wrong type", "/metadata/labels", json!({"a": 1}), "expected strings only"),
        odd("annotations of the wrong type", "/metadata/annotations", json!({"a": null}), "expected strings only"),
        top("a class that is no text", "/spec/volumeAttributesClassName", json!(1), no_text),
        top("a name that is not a string", "/metadata/name", json!(1), "deny 403 \"metadata.name: expected a string\""),
        top("a volume mode that is the default", "/spec/volumeMode", Value::Null, "mutate templates"),
    ]
}
