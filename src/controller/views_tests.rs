use serde_json::json;

use super::{claim, pod, set};
use crate::controller::slim::{Claim, Pod, Set};
use crate::rollout::snapshot::{Modify, PodManagement, Resize, Strategy};
use crate::templates::UpdatePolicy;

#[test]
fn a_claim_is_read_with_all_that_the_drivers_say() {
    let mut object: Claim = serde_json::from_value(json!({
        "metadata": {
            "name": "data-web-0", "uid": "u", "resourceVersion": "7", "labels": { "app": "web" },
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p" },
                { "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "s", "controller": true },
            ],
            "managedFields": [{
                "manager": "claim-rollout", "operation": "Apply",
                "fieldsV1": { "f:spec": { "f:volumeAttributesClassName": {} } },
            }],
        },
        "spec": { "resources": { "requests": { "storage": "2Gi" } }, "volumeAttributesClassName": "fast" },
        "status": {
            "phase": "Bound",
            "capacity": { "storage": "1Gi" },
            "currentVolumeAttributesClassName": "slow",
            "allocatedResourceStatuses": { "storage": "NodeResizePending" },
            "modifyVolumeStatus": { "targetVolumeAttributesClassName": "fast", "status": "InProgress" },
            "conditions": [
                { "type": "FileSystemResizePending", "status": "True" },
                { "type": "Resizing", "status": "False" },
                { "type": "NodeResizeError", "status": "False", "message": "over" },
                { "type": "ModifyVolumeError", "status": "True", "message": "no such class" },
            ],
        },
    }))
    .unwrap();
    object.trim();
    let view = claim(&object).unwrap();
    assert_eq!(
        (view.name.as_str(), view.uid.as_str(), view.resource_version.as_str()),
        ("data-web-0", "u", "7")
    );
    assert_eq!(view.controller.unwrap().name, "web");
    assert_eq!((view.terminating, view.bound, view.class_is_ours), (true, true, true));
    assert_eq!(
        (view.request, view.capacity),
        ("2Gi".parse().unwrap(), Some("1Gi".parse().unwrap()))
    );
    assert_eq!(
        (view.class.as_deref(), view.current_class.as_deref()),
        (Some("fast"), Some("slow"))
    );
    assert_eq!(
        (view.resize, view.modify),
        (Some(Resize::NodePending), Some(Modify::InProgress))
    );
    assert_eq!((view.resizing, view.file_system_resize_pending), (false, true));
    assert_eq!(view.trouble.unwrap().message, "no such class");
}

#[test]
fn a_size_is_ours_iff_an_apply_of_ours_alone_owns_it() {
    let entry = |manager: &str, operation: &str, field: &str| {
        let owned = json!({ "f:spec": { "f:resources": { "f:requests": { field: {} } } } });
        json!({ "manager": manager, "operation": operation, "fieldsV1": owned })
    };
    let ours = entry("claim-rollout", "Apply", "f:storage");
    let rows = [
        (vec![], false),
        (vec![ours.clone()], true),
        (
            vec![entry("kube-controller-manager", "Update", "."), ours.clone()],
            true,
        ),
        (vec![ours, entry("kubectl", "Apply", "f:storage")], false),
        (vec![entry("claim-rollout", "Update", "f:storage")], false),
        (vec![entry("kubectl-edit", "Update", "f:storage")], false),
        (vec![entry("claim-rollout", "Apply", "f:other")], false),
    ];
    for (entries, expected) in rows {
        let metadata = json!({ "name": "data-web-0", "managedFields": entries });
        let mut object: Claim = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        object.trim();
        assert_eq!(claim(&object).unwrap().size_is_ours, expected, "{entries:?}");
    }
}

#[test]
fn a_set_is_read_with_the_users_annotations_and_an_unknown_policy_is_the_harmless_one() {
    let read = |policy: &str, held: Option<&str>| {
        let mut annotations =
            json!({ "claim-rollout.io/update-policy": policy, "claim-rollout.io/paused": "true", "x": "y" });
        if let Some(held) = held {
            annotations["claim-rollout.io/held-partition"] = held.into();
        }
        let mut object: Set = serde_json::from_value(json!({
            "metadata": { "name": "web", "namespace": "n", "uid": "u", "resourceVersion": "1", "annotations": annotations },
            "spec": {
                "replicas": 3, "ordinals": { "start": 5 }, "podManagementPolicy": "Parallel",
                "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 2 } },
                "selector": { "matchLabels": { "app": "web" } },
                "volumeClaimTemplates": [{ "metadata": { "name": "data" } }],
            },
            "status": { "updateRevision": "web-1" },
        }))
        .unwrap();
        object.trim();
        assert_eq!(object.template_names(), ["data"]);
        set(&object).unwrap()
    };
    let view = read("InPlace", None);
    assert_eq!(
        (view.replicas, view.first_ordinal, view.partition, view.paused),
        (3, 5, 2, true)
    );
    assert_eq!(
        (view.strategy, view.pod_management),
        (Strategy::RollingUpdate, PodManagement::Parallel)
    );
    assert_eq!(view.update_policy, Some(UpdatePolicy::InPlace));
    assert_eq!(view.ordinals().collect::<Vec<_>>(), [7, 6, 5]);
    let view = read("inplace", Some("1"));
    assert_eq!(
        (view.partition, view.update_policy),
        (1, Some(UpdatePolicy::OnClaimDelete))
    );
}

#[test]
fn a_pod_that_has_ended_mounts_nothing() {
    for (phase, expected) in [
        ("Running", true),
        ("Pending", true),
        ("Succeeded", false),
        ("Failed", false),
    ] {
        let object: Pod = serde_json::from_value(json!({
            "metadata": { "name": "p" },
            "spec": { "volumes": [{ "name": "a" }, { "persistentVolumeClaim": { "claimName": "data-web-0" } }] },
            "status": { "phase": phase },
        }))
        .unwrap();
        assert_eq!(
            pod(&object).map(|pod| pod.claims),
            expected.then(|| vec!["data-web-0".to_owned()]),
            "{phase}"
        );
    }
}
