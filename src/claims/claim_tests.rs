//! What is read of a claim.

use serde_json::{Value, json};

use super::Claim;

const SIZE: &str = r#"{"f:resources":{"f:requests":{"f:storage":{}}}}"#;
const CLASS: &str = r#"{"f:volumeAttributesClassName":{}}"#;

/// Manager, operation, and the owned fields of the spec.
type Entry = (&'static str, &'static str, &'static str);

#[test]
fn status_with_null_members_is_read() {
    let status = json!({
        "capacity": {"storage": null}, "allocatedResources": {"storage": null},
        "allocatedResourceStatuses": {"storage": null}, "currentVolumeAttributesClassName": null,
        "modifyVolumeStatus": {"status": null, "targetVolumeAttributesClassName": null}, "conditions": null,
    });
    let claim = json!({
        "metadata": {"name": "data-web-0"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": status,
    });
    let claim = Claim::read(&claim.to_string()).expect("a claim");
    assert_eq!((claim.capacity, claim.allocated, claim.resize), (None, None, None));
    assert_eq!(
        (claim.current_class, claim.modify, claim.modify_class),
        (None, None, None)
    );
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
