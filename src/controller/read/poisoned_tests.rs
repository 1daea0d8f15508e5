//! Objects that somebody filled so that a strict reader fails, one of every kind that is watched or listed.

use k8s_openapi::api::core::v1::Pod;
use kube::core::ObjectList;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::controller::blockers::{SlimLimitRange, SlimQuota, SlimStorageClass};
use crate::controller::read::metadata::Bare;
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
    let list = serde_json::from_str::<ObjectList<K>>(text);
    list.map(|list| list.items.len()).map_err(|error| error.to_string())
}

#[test]
fn poisoned_object_of_every_kind_is_read() {
    type Reads = fn(&str) -> Result<usize, String>;
    let kinds: [(&str, Reads); 13] = [
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
        ("LimitRange and StorageClass", |text| {
            count::<SlimLimitRange>(text).and_then(|_| count::<SlimStorageClass>(text))
        }),
        ("ClaimRollout", count::<SlimRollout>),
        ("metadata", count::<Bare>),
    ];
    for (poison, object) in poisons() {
        let text = list(&object);
        for (kind, read) in kinds {
            assert_eq!(read(&text), Ok(3), "{kind} with {poison}");
        }
    }
    // The types of the client fail at the first of them.
    let strict = poisons()
        .iter()
        .filter(|(_, object)| count::<Pod>(&list(object)).is_err())
        .count();
    assert_eq!(strict, 4, "otherwise, nothing is shown here");
}
