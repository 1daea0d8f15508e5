use serde_json::json;

use super::{claim, pod, previous, set};
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::pod::SlimPod;
use crate::controller::objects::set::{KruiseSet, SlimSet};
use crate::gate::PodManagement;
use crate::rollout::fixtures::rows;
use crate::rollout::snapshot::{Modify, Resize};
use crate::templates::{Strategy, UpdatePolicy};

#[test]
fn claim_is_read_with_its_status() {
    let object: SlimClaim = serde_json::from_value(json!({
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
                { "type": "Resizing", "status": "False", "lastTransitionTime": null },
                { "type": "NodeResizeError", "status": "False", "message": "over" },
                { "type": "ControllerResizeError", "status": "True", "message": "no space" },
                { "type": "ModifyVolumeError", "status": "True", "message": "no such class" },
            ],
        },
    }))
    .unwrap();
    let view = claim(&object).unwrap();
    assert_eq!(
        (view.name.as_str(), view.uid.as_str(), view.resource_version.as_str()),
        ("data-web-0", "u", "7")
    );
    assert_eq!(view.controller().unwrap().name, "web");
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
    assert_eq!(
        (view.resizing, view.file_system_resize_pending.is_some()),
        (false, true)
    );
    let troubles = view.troubles.iter().map(|trouble| trouble.message.as_str());
    assert_eq!(troubles.collect::<Vec<_>>(), ["no space", "no such class"]);
}

#[test]
fn claim_spec_is_read_and_invalid_size_is_an_error() {
    let read = |spec: serde_json::Value| -> SlimClaim {
        serde_json::from_value(json!({ "metadata": { "name": "data-web-0" }, "spec": spec })).unwrap()
    };
    let view = claim(&read(json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "volumeMode": "Filesystem", "volumeName": "pvc-1",
        "resources": { "requests": { "storage": "1024Mi", "x": "1000m" } },
    })))
    .unwrap();
    let expected = r#"{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"x":"1"}},"storageClassName":"slow","volumeName":"pvc-1"}"#;
    let spec = crate::json::canonical(&crate::json::Value::Object((*view.spec).clone()));
    assert_eq!((spec.as_str(), view.request), (expected, "1Gi".parse().unwrap()));
    let error = claim(&read(json!({ "resources": { "requests": { "storage": "much" } } }))).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("PersistentVolumeClaim data-web-0: spec.resources.requests.storage: "),
        "{error}"
    );
}

#[test]
fn set_is_read_with_annotations_and_unknown_policy_is_safe() {
    let read = |policy: &str, ready: &str| {
        let annotations = json!({
            "claim-rollout.io/update-policy": policy, "claim-rollout.io/paused": "true", "x": "y",
            "claim-rollout.io/ready": ready,
        });
        let object: SlimSet = serde_json::from_value(json!({
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
        assert_eq!(object.template_names(), ["data"]);
        set(&object).unwrap()
    };
    let view = read("InPlace", "9jjhnzsfjj.7");
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
    assert_eq!(view.ready.map(|ready| ready.ordinal), Some(7));
    let view = read("inplace", "7");
    assert_eq!(
        (view.ready, view.update_policy),
        (None, Some(UpdatePolicy::OnClaimDelete))
    );
}

#[test]
fn pod_has_ready_time_or_reason_for_not_ready() {
    let read = |conditions: serde_json::Value| {
        let mut object: SlimPod = serde_json::from_value(json!({
            "metadata": { "name": "p", "creationTimestamp": "1970-01-01T00:01:00Z" },
            "status": { "conditions": conditions },
        }))
        .unwrap();
        object.trim();
        let pod = pod(&object).unwrap();
        assert_eq!((pod.created, pod.deleted), (60, None));
        (
            pod.ready_since,
            pod.unready.map(|unready| (unready.since, unready.message)),
        )
    };
    let condition = |kind: &str, status: &str, message: &str| json!({ "type": kind, "status": status, "message": message, "lastTransitionTime": "1970-01-01T00:02:00Z" });
    let because = |message: &str| (None, Some((120, message.to_owned())));
    assert_eq!(read(json!([])), (None, None));
    let scheduled = condition("PodScheduled", "True", "");
    assert_eq!(
        read(json!([scheduled, condition("Ready", "True", "")])),
        (Some(120), None)
    );
    let unready = condition("Ready", "False", "containers");
    assert_eq!(
        read(json!([unready, condition("ContainersReady", "False", "no")])),
        because("containers")
    );
    assert_eq!(
        read(json!([unready, condition("PodScheduled", "False", "no node")])),
        because("no node")
    );
}

#[test]
fn pod_being_deleted_is_not_ready() {
    let object: SlimPod = serde_json::from_value(json!({
        "metadata": { "name": "p", "deletionTimestamp": "1970-01-01T00:01:30Z" },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
    }))
    .unwrap();
    let pod = pod(&object).unwrap();
    assert_eq!((pod.deleted, pod.ready_since), (Some(90), None));
}

#[test]
fn previous_report_is_read_from_the_status() {
    let rollout = |status: serde_json::Value| {
        let set = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u" });
        let spec = json!({ "setRef": set, "revision": "b", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never" });
        serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec, "status": status })).unwrap()
    };
    let now = "1970-01-01T00:01:00Z";
    let claim = json!({ "name": "data-web-0", "ordinal": 0, "state": "Applied", "reason": "NotBegun", "message": "m", "since": now });
    let ready =
        json!({ "type": "Ready", "status": "False", "reason": "RollingOut", "message": "", "lastTransitionTime": now });
    let written = rollout(json!({ "updateRevision": "a", "startedAt": now, "claims": [claim], "conditions": [ready] }));
    assert_eq!(previous(&written, "another set"), None);
    let seen = previous(&written, "u").unwrap();
    // The spec may contain the next target already.
    assert_eq!(
        (seen.revision.as_str(), seen.started, seen.ready.as_str()),
        ("a", Some(60), "RollingOut")
    );
    assert_eq!(
        seen.claims["data-web-0"],
        ("Applied".to_owned(), "NotBegun".to_owned(), "m".to_owned())
    );
    assert_eq!(
        previous(&rollout(json!({ "updateRevision": "a" })), "u")
            .unwrap()
            .started,
        None
    );
    assert_eq!(previous(&rollout(json!(null)), "u"), None);
}

/// The spec of an OpenKruise StatefulSet with `update-policy: InPlace`; whether it is paused, and not supported.
const ADVANCED: &str = r#"
    plain                    | {}                                                          | false | false
    its PVCs wait for users  | {"volumeClaimUpdateStrategy": {"type": "OnDelete"}}           | false | false
    OpenKruise updates them  | {"volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"}} | false | true
    reserved ordinals        | {"reserveOrdinals": [1, "3-5"]}                               | false | true
    its Pods are paused      | {"updateStrategy": {"rollingUpdate": {"paused": true, "maxUnavailable": "20%", "partition": 1}}} | true | false
"#;

#[test]
fn openkruise_set_is_read_with_its_live_templates() {
    for [row, spec, paused, not_supported] in rows(ADVANCED) {
        let spec = serde_json::from_str(spec).unwrap();
        let view = set(&advanced(Some("InPlace"), &spec)).unwrap();
        let staged = view.staged.as_ref().map(|change| &change.templates);
        assert_eq!(staged, Some(&view.live), "{row}");
        assert!(view.templates_can_change, "{row}");
        let found = [view.paused, view.not_supported.is_some()].map(|found| found.to_string());
        assert_eq!(found, [paused, not_supported], "{row}");
        assert_eq!(
            (view.strategy, view.replace_set),
            (Strategy::RollingUpdate, None),
            "{row}"
        );
    }
    for policy in [None, Some("OnClaimDelete"), Some("ReCreate"), Some("inplace")] {
        let view = set(&advanced(policy, &json!({}))).unwrap();
        assert_eq!((view.staged, view.unreadable), (None, None), "{policy:?}");
    }
}

/// An OpenKruise StatefulSet with this update policy, and with what only an `apps/v1` one may have.
fn advanced(policy: Option<&str>, spec: &serde_json::Value) -> SlimSet {
    let mut object = json!({
        "apiVersion": "apps.kruise.io/v1beta1",
        "metadata": {
            "name": "web", "namespace": "default", "uid": "u", "finalizers": ["claim-rollout.io/replacing"],
            "annotations": {"claim-rollout.io/staged": "{}", "claim-rollout.io/replace-set": "WhenComplete"},
        },
        "spec": spec,
    });
    object["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "2Gi"}}},
    }]);
    if let Some(policy) = policy {
        object["metadata"]["annotations"]["claim-rollout.io/update-policy"] = policy.into();
    }
    let KruiseSet(set) = serde_json::from_value(object).unwrap();
    assert!(!set.is_marked);
    set
}
