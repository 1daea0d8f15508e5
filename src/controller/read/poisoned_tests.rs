//! Objects that somebody filled so that a strict reader fails, one of every kind that is watched or listed.

use k8s_openapi::api::core::v1::Pod;
use kube::core::{ObjectList, WatchEvent};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::controller::blockers::{SlimLimitRange, SlimQuota, SlimStorageClass};
use crate::controller::read::item::ListItem;
use crate::controller::read::metadata::Bare;
use crate::controller::read::pages::UNREAD;
use crate::controller::replacing::parts::{LabeledPod, SentQuota, SentRevision};
use crate::controller::slim_claim::{Applied, SlimClaim};
use crate::controller::slim_pod::SlimPod;
use crate::controller::slim_rollout::SlimRollout;
use crate::controller::slim_set::{KruiseSet, Patched, SlimSet};

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

/// A list with a poisoned object between two others.
fn list(poison: &Value) -> String {
    let named = |name: &str, poison: &Value| {
        let mut object = poison.clone();
        object["metadata"]["name"] = name.into();
        object
    };
    let plain = json!({"metadata": {}});
    let items = [named("a", &plain), named("b", poison), named("c", &plain)];
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": items}).to_string()
}

fn count<K: Clone + DeserializeOwned>(text: &str) -> Result<usize, String> {
    let list = serde_json::from_str::<ObjectList<ListItem<K>>>(text).map_err(|error| error.to_string())?;
    let items: ObjectList<Box<RawValue>> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    for item in &items.items {
        // The API server sends the type first.
        let event = format!("{{\"type\":\"MODIFIED\",\"object\":{item}}}");
        serde_json::from_str::<WatchEvent<ListItem<K>>>(&event).map_err(|error| error.to_string())?;
    }
    Ok(list.items.into_iter().filter_map(|item| item.read().ok()).count())
}

type Reads = fn(&str) -> Result<usize, String>;

/// Every kind that is watched or listed.
const KINDS: [(&str, Reads); 14] = [
    ("StatefulSet", count::<SlimSet>),
    ("StatefulSet of OpenKruise", count::<KruiseSet>),
    ("reply of a StatefulSet", count::<Patched>),
    ("PVC", count::<SlimClaim>),
    ("reply of a PVC", count::<Applied>),
    ("Pod", count::<SlimPod>),
    ("Pod of a replacement", count::<LabeledPod>),
    ("ControllerRevision", count::<SentRevision>),
    ("ResourceQuota", count::<SlimQuota>),
    ("ResourceQuota of a replacement", count::<SentQuota>),
    ("LimitRange", count::<SlimLimitRange>),
    ("StorageClass", count::<SlimStorageClass>),
    ("ClaimRollout", count::<SlimRollout>),
    ("metadata", count::<Bare>),
];

#[test]
fn poisoned_object_of_every_kind_is_read() {
    for (poison, object) in poisons() {
        let text = list(&object);
        for (kind, read) in KINDS {
            assert_eq!(read(&text), Ok(3), "{kind} with {poison}");
        }
        // Otherwise, nothing is shown here.
        let strict = serde_json::from_str::<ObjectList<Pod>>(&text);
        assert!(strict.is_err(), "the type of the client reads {poison}");
    }
}

/// Any JSON, with keys that the readers know.
fn any_value() -> impl Strategy<Value = Value> {
    const KEYS: [&str; 24] = [
        "metadata",
        "spec",
        "status",
        "labels",
        "annotations",
        "managedFields",
        "ownerReferences",
        "finalizers",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "conditions",
        "type",
        "lastTransitionTime",
        "volumes",
        "persistentVolumeClaim",
        "replicas",
        "selector",
        "volumeClaimTemplates",
        "updateStrategy",
        "hard",
        "used",
        "limits",
        "resources",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["", "x", LATE, "1Gi", "\u{0}"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let object = prop::collection::vec((prop::sample::select(KEYS.to_vec()), inner.clone()), 0..6);
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
        let text = list(&json!({"metadata": metadata, "spec": spec, "status": status}));
        for (kind, read) in KINDS {
            let count = read(&text);
            prop_assert!(count == Ok(2) || count == Ok(3), "{kind}: {count:?}");
        }
    }
}

/// An item of a list that is too large has the key of [`super::pages`].
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
