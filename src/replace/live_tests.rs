use serde_json::{Value, json};

use super::journal::Journal;
use super::live::{FINALIZER, HOLD, LiveSet};
use crate::templates::keys;

/// With every kind of field, also one that this release does not know.
fn set() -> LiveSet {
    LiveSet::new(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "ofNewerRelease": 1,
        "metadata": {
            "namespace": "default", "name": "web", "labels": {"app": "web"},
            "annotations": {
                "team": "blue", (keys::REPLACE_SET): "WhenComplete", (keys::PAUSED): "false", (keys::STAGED): "{}",
                (keys::PHASE): "Complete", (keys::READY): "r", (keys::STAGED_AT): "t", (keys::WITHDRAW): "w"
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "App", "name": "a", "uid": "u", "controller": true}],
            "finalizers": [FINALIZER], "ofNewerRelease": 2,
            "uid": "uid-1", "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-01T01:00:00Z", "deletionGracePeriodSeconds": 0, "selfLink": "/web",
            "managedFields": [
                {"manager": "kubectl", "fieldsV1": {"f:spec": {}}},
                {"manager": "claim-rollout", "operation": "Update", "fieldsV1": {"f:metadata": {}}},
                {"manager": "claim-rollout", "operation": "Apply", "fieldsV1": {"f:metadata": {}}}
            ]
        },
        "spec": {
            "replicas": 3, "serviceName": "web", "ofNewerRelease": {"deep": [1, null]},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": "30%"}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "old"}}]
        },
        "status": {"replicas": 3}
    }))
}

/// The whole object: what a user wrote is kept, and what the API server wrote is not.
#[test]
fn recreated_set_has_every_field_of_the_user() {
    let expected = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "ofNewerRelease": 1,
        "metadata": {
            "namespace": "default", "name": "web", "labels": {"app": "web"},
            "annotations": {"team": "blue", (keys::REPLACE_SET): "WhenComplete", (keys::PAUSED): "false"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "App", "name": "a", "uid": "u", "controller": true}],
            "finalizers": [FINALIZER], "ofNewerRelease": 2
        },
        "spec": {
            "replicas": 3, "serviceName": "web", "ofNewerRelease": {"deep": [1, null]},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD, "maxUnavailable": "30%"}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "volumeClaimTemplates": [{"metadata": {"name": "new"}}]
        }
    });
    let templates = [json!({"metadata": {"name": "new"}})];
    assert_eq!(set().recreated(&templates, Some("Delete")), expected);
}

#[test]
fn recreated_set_has_only_the_finalizer_of_ours() {
    for before in [
        json!(null),
        json!([]),
        json!(["orphan", FINALIZER]),
        json!(["example.com/clean"]),
    ] {
        let mut object = set().object().clone();
        object["metadata"]["finalizers"] = before.clone();
        let recreated = LiveSet::new(object).recreated(&[], None);
        assert_eq!(recreated["metadata"]["finalizers"], json!([FINALIZER]), "{before}");
    }
}

/// The update strategy, and the one of the new set. A partition is not added where the API server would deny it.
#[test]
fn recreated_set_keeps_its_pods() {
    let rows = [
        (
            json!(null),
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD}}),
        ),
        (
            json!({"type": "RollingUpdate", "rollingUpdate": null}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD}}),
        ),
        (
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}),
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": HOLD}}),
        ),
        (json!({"type": "OnDelete"}), json!({"type": "OnDelete"})),
        (json!({"type": "Recreate"}), json!({"type": "OnDelete"})),
        (json!({"type": "OfNewerRelease"}), json!({"type": "OfNewerRelease"})),
    ];
    for (before, expected) in rows {
        let mut object = set().object().clone();
        object["spec"]["updateStrategy"] = before.clone();
        let recreated = LiveSet::new(object).recreated(&[], None);
        assert_eq!(recreated["spec"]["updateStrategy"], expected, "{before}");
    }
}

#[test]
fn recreated_set_keeps_when_deleted_unless_we_changed_it() {
    for (ours, expected) in [(None, "Retain"), (Some("Delete"), "Delete")] {
        let recreated = set().recreated(&[], ours);
        let policy = &recreated["spec"]["persistentVolumeClaimRetentionPolicy"];
        assert_eq!(*policy, json!({"whenDeleted": expected, "whenScaled": "Delete"}));
    }
    let mut object = set().object().clone();
    object["spec"]["persistentVolumeClaimRetentionPolicy"] = Value::Null;
    let recreated = LiveSet::new(object).recreated(&[], None);
    assert_eq!(recreated["spec"]["persistentVolumeClaimRetentionPolicy"], Value::Null);
}

/// Only our finalizer is removed: the update must not change anything else.
#[test]
fn unmarked_set_loses_nothing_but_the_finalizer() {
    let mut object = set().object().clone();
    object["metadata"]["finalizers"] = json!(["a", FINALIZER, "b"]);
    let mut expected = object.clone();
    expected["metadata"]["finalizers"] = json!(["a", "b"]);
    assert_eq!(LiveSet::new(object).unmarked(), expected);
}

#[test]
fn managed_fields_without_a_manager_keep_the_others() {
    let kubectl = json!({"manager": "kubectl", "fieldsV1": {"f:spec": {}}});
    assert_eq!(set().managed_fields_without("claim-rollout"), json!([kubectl]));
    assert_eq!(
        LiveSet::new(json!({})).managed_fields_without("claim-rollout"),
        json!([])
    );
}

#[test]
fn pod_template_is_of_others_if_another_manager_wrote_it() {
    let template = json!({"f:spec": {"f:template": {}}});
    for (what, entries, expected) in [
        ("another", json!([{"manager": "kubectl", "fieldsV1": template}]), true),
        (
            "this one",
            json!([{"manager": "claim-rollout", "fieldsV1": template}]),
            false,
        ),
        (
            "another, something else",
            json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]),
            false,
        ),
        ("nobody", Value::Null, false),
    ] {
        let set = LiveSet::new(json!({"metadata": {"managedFields": entries}}));
        assert_eq!(set.has_pod_template_of_others("claim-rollout"), expected, "{what}");
    }
}

#[test]
fn set_is_owned_by_the_manager_of_its_spec() {
    assert!(set().is_owned_by("kubectl"));
    assert!(!set().is_owned_by("claim-rollout") && !set().is_owned_by("helm"));
}

/// What is missing has the default of the API server.
#[test]
fn set_without_fields_has_defaults() {
    let empty = LiveSet::new(json!({}));
    assert_eq!((empty.replicas(), empty.first_ordinal(), empty.partition()), (1, 0, 0));
    assert!(empty.has_partition() && !empty.recreates_pods() && !empty.is_on_delete());
    assert!(!empty.terminating() && !empty.is_marked() && !empty.is_deleted_in_foreground());
    assert_eq!(empty.foreign_finalizer(), None);
    assert_eq!(Journal::prepare(&empty, None, 0), None);
}
