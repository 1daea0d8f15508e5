//! Objects that somebody filled so that a strict reader fails, one of every kind that is watched or listed.

use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectList;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::controller::kinds::{FIELDS, KINDS, list};
use crate::controller::objects::pod::SlimPod;
use crate::controller::read::item::ListItem;
use crate::controller::read::pages::UNREAD;

/// What the API server keeps of `9999-12-31T23:59:59-12:00`.
const LATE: &str = "10000-01-01T11:59:59Z";

/// What the API server stores of a user, by what is wrong with it.
fn poisons() -> Vec<(&'static str, Value)> {
    let nested = (0..300).fold(json!({}), |inner, _| json!({ "f:a": inner }));
    let managed = |time: &str, fields: Value| json!([{"manager": "m", "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields}]);
    let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": LATE});
    vec![
        (
            "a late time",
            json!({"metadata": {"managedFields": managed(LATE, json!({}))}}),
        ),
        (
            "deep fields",
            json!({"metadata": {"managedFields": managed("2026-01-01T00:00:00Z", nested)}}),
        ),
        (
            "fields of another type",
            json!({"metadata": {"managedFields": managed("x", json!({"f:spec": 5, "f:metadata": 5}))}}),
        ),
        (
            "a late condition",
            json!({"metadata": {}, "status": {"conditions": [condition]}}),
        ),
    ]
}

/// The object with a name.
fn named(poison: &Value) -> String {
    let mut object = poison.clone();
    object["metadata"]["name"] = "b".into();
    object.to_string()
}

#[test]
fn poisoned_object_of_every_kind_is_read() {
    for (poison, object) in poisons() {
        let object = named(&object);
        for (kind, read) in KINDS {
            assert_eq!(read(&object), Ok(3), "{kind} with {poison}");
        }
        // Otherwise, nothing is shown here.
        let strict = serde_json::from_str::<ObjectList<Pod>>(&list(&object));
        assert!(strict.is_err(), "the type of the client reads {poison}");
    }
}

/// Any JSON, with keys that the readers know.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["", "x", LATE, "1Gi", "\u{0}"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let object = prop::collection::vec((prop::sample::select(FIELDS.to_vec()), inner.clone()), 0..6);
        let object = object.prop_map(|fields| {
            let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
            Value::Object(fields.collect())
        });
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::from), object]
    })
}

proptest! {
    /// Whatever one object is, the others of the list are read, and an event with it ends no watch.
    #[test]
    fn any_object_hides_no_other(parts in prop::collection::vec(any_value(), 3)) {
        let [metadata, spec, status] = &parts[..] else { unreachable!() };
        let mut metadata = metadata.clone();
        if !metadata.is_object() {
            metadata = json!({});
        }
        let object = named(&json!({"metadata": metadata, "spec": spec, "status": status}));
        for (kind, read) in KINDS {
            let count = read(&object);
            prop_assert!(count == Ok(2) || count == Ok(3), "{kind}: {count:?}");
        }
    }
}

/// An item of a list that is too large has the key of [`crate::controller::read::pages`].
#[test]
fn skipped_object_is_unread() {
    let skipped = json!({(UNREAD): "why", "metadata": {"name": "b", "resourceVersion": "7"}});
    let item: ListItem<SlimPod> = serde_json::from_str(&skipped.to_string()).expect("an item");
    let unread = item.read().expect_err("no Pod");
    assert_eq!(unread.key(), (String::new(), "b".to_owned()));
    assert_eq!(unread.metadata.resource_version.as_deref(), Some("7"));
    assert_eq!(unread.why, "why");
}

/// The message of serde would quote the value.
#[test]
fn reason_of_an_unread_object_quotes_nothing() {
    let text = json!({"metadata": {"name": "b"}, "status": {"phase": {"a": "hunter2"}}}).to_string();
    let item: ListItem<SlimPod> = serde_json::from_str(&text).expect("an item");
    let unread = item.read().expect_err("no Pod");
    assert!(
        unread.why.starts_with("Data error at line 1, column "),
        "{}",
        unread.why
    );
}
