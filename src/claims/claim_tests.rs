//! What is read of a claim.

use serde_json::{Value, json};

use super::{Claim, Owner};
use crate::json::Map;

const SIZE: &str = r#"{"f:resources":{"f:requests":{"f:storage":{}}}}"#;
const CLASS: &str = r#"{"f:volumeAttributesClassName":{}}"#;

/// Manager, operation, and the owned fields of the spec.
type Entry = (&'static str, &'static str, &'static str);

#[test]
fn claim_with_null_members_is_read() {
    let status = json!({
        "capacity": {"storage": null}, "allocatedResources": {"storage": null},
        "allocatedResourceStatuses": {"storage": null}, "currentVolumeAttributesClassName": null,
        "modifyVolumeStatus": {"status": null, "targetVolumeAttributesClassName": null}, "conditions": null,
    });
    let claim = json!({
        "metadata": {
            "name": "data-web-0", "labels": null, "annotations": null, "creationTimestamp": null,
            "deletionTimestamp": null, "finalizers": null, "ownerReferences": null, "managedFields": null,
        },
        "spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": status,
    });
    let claim = Claim::read(&claim.to_string()).expect("a claim");
    assert!(!claim.terminating && claim.owners.is_empty() && claim.finalizers.is_empty());
    assert_eq!((claim.capacity, claim.allocated, claim.resize), (None, None, None));
    assert_eq!(
        (claim.current_class, claim.modify, claim.modify_class),
        (None, None, None)
    );
}

/// The policy, the controller and the command line read a PVC alike.
#[test]
fn claim_has_every_field_of_its_metadata() {
    let metadata = json!({
        "name": "data-web-0", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"},
        "creationTimestamp": "1970-01-01T00:01:00Z", "deletionTimestamp": "1970-01-01T00:02:00Z",
        "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": {
            "volume.beta.kubernetes.io/storage-class": "old", "claim-rollout.io/recreated-for": "r", "other": "x",
        },
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "s", "controller": true}],
    });
    let claim = Claim::read(&json!({ "metadata": metadata }).to_string()).expect("a claim");
    let owner = Owner {
        api_version: "apps/v1".to_owned(),
        kind: "StatefulSet".to_owned(),
        name: "web".to_owned(),
        uid: "s".to_owned(),
        controller: true,
        block_owner_deletion: false,
    };
    let expected = Claim {
        name: "data-web-0".to_owned(),
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
        labels: Map::from_unsorted(vec![("app".to_owned(), "web".to_owned())]).expect("a map"),
        owners: vec![owner],
        terminating: true,
        created: 60,
        deleted: Some(120),
        finalizers: vec!["kubernetes.io/pvc-protection".to_owned()],
        recreated_for: Some("r".to_owned()),
        class_annotation: Some("old".to_owned()),
        ..Claim::default()
    };
    assert_eq!(claim, expected);
}

/// What the API server stores of users: times that no clock shows, any number of labels, fields of any form.
#[test]
fn claim_with_strange_metadata_is_read() {
    let late = "10000-01-01T11:59:59Z";
    let labels: serde_json::Map<String, Value> = (0..5000).map(|label| (format!("l{label}"), "x".into())).collect();
    let fields = json!([{"manager": 1}, {"manager": "m", "fieldsV1": {"f:spec": 5}}, "x"]);
    let claim = json!({"metadata": {
        "name": "data-web-0", "creationTimestamp": late, "deletionTimestamp": late, "labels": labels, "managedFields": fields,
    }});
    let claim = Claim::read(&claim.to_string()).expect("a claim");
    assert_eq!((claim.created, claim.deleted, claim.terminating), (0, Some(0), true));
    assert_eq!((claim.labels.iter().count(), claim.size_is_ours), (5000, false));
}

#[test]
fn size_needs_no_other_owner_and_class_does_not() {
    let us = "claim-rollout";
    let rows: [(&str, &[Entry], (bool, bool)); 8] = [
        ("nobody", &[], (false, false)),
        ("we", &[(us, "Apply", SIZE), (us, "Apply", CLASS)], (true, true)),
        (
            "another",
            &[("kubectl", "Apply", SIZE), ("kubectl", "Apply", CLASS)],
            (false, false),
        ),
        (
            "we and another",
            &[(us, "Apply", SIZE), ("kubectl", "Update", SIZE)],
            (false, false),
        ),
        (
            "we and another the class",
            &[("kubectl", "Update", CLASS), (us, "Apply", CLASS)],
            (false, true),
        ),
        (
            "not by an apply",
            &[(us, "Update", SIZE), (us, "Update", CLASS)],
            (false, false),
        ),
        (
            "other requests",
            &[(us, "Apply", r#"{"f:resources":{"f:requests":{}}}"#)],
            (false, false),
        ),
        (
            "limits",
            &[(us, "Apply", r#"{"f:resources":{"f:limits":{"f:storage":{}}}}"#)],
            (false, false),
        ),
    ];
    for (row, entries, expected) in rows {
        let managed = entries.iter().map(|(manager, operation, spec)| {
            let spec: Value = serde_json::from_str(spec).unwrap();
            json!({"manager": manager, "operation": operation, "fieldsV1": {"f:metadata": {}, "f:spec": spec}})
        });
        let managed: Value = managed.collect();
        let claim = json!({"metadata": {"name": "data-web-0", "managedFields": managed}});
        let claim = Claim::read(&claim.to_string()).unwrap();
        assert_eq!((claim.size_is_ours, claim.class_is_ours), expected, "{row}");
    }
}
