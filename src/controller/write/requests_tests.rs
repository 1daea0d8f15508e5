use kube::Api;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::{apply_claim, body, hold, staged_at, staged_change, written_at};
use crate::api::SetVersion;
use crate::controller::fixtures::recording;
use crate::rollout::fixtures::{label, web};
use crate::rollout::{ApplyClaim, SetStaged, SetStagedAt};
use crate::templates::ClaimName;

fn version() -> SetVersion {
    SetVersion {
        uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
    }
}

fn growth() -> ApplyClaim {
    ApplyClaim {
        name: ClaimName::new("data", "web", 2).unwrap(),
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
        storage: "2Gi".parse().unwrap(),
        taken_back: None,
        volume_attributes_class_name: None,
        labels: [].into(),
        annotations: [].into(),
        label: label("b"),
    }
}

/// The size belongs to whoever created the PVC, so an apply without force is always a conflict.
#[tokio::test]
async fn size_of_another_field_manager_is_taken_over() {
    let (client, received) = recording(|_| Some((200, Value::Null)));
    apply_claim(&Api::namespaced(client, "shop"), &growth()).await;
    let sent = received.take();
    let [request] = &sent[..] else { panic!("{sent:?}") };
    let target = "PATCH /api/v1/namespaces/shop/persistentvolumeclaims/data-web-2";
    assert_eq!(request.target(), target);
    assert_eq!(request.query, "&force=true&fieldManager=claim-rollout");
    assert_eq!(request.content_type, "application/apply-patch+yaml");
}

#[test]
fn body_has_fields_of_the_action_uid_and_resource_version() {
    let mut apply = growth();
    let expected = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-web-2",
            "uid": "u",
            "resourceVersion": "7",
            "labels": { "claim-rollout.io/revision": "b.xz245" },
        },
        "spec": { "resources": { "requests": { "storage": "2Gi" } } },
    });
    assert_eq!(body(&apply), expected);

    apply.labels.insert("tier".to_owned(), "a".to_owned());
    apply.annotations.insert("note".to_owned(), "n".to_owned());
    apply.volume_attributes_class_name = Some("fast".to_owned());
    let mut expected = expected;
    expected["metadata"]["labels"]["tier"] = json!("a");
    expected["metadata"]["annotations"] = json!({ "note": "n" });
    expected["spec"]["volumeAttributesClassName"] = json!("fast");
    assert_eq!(body(&apply), expected);
}

#[test]
fn staged_at_is_written_for_one_version_of_the_set() {
    let action = SetStagedAt {
        set: version(),
        at: 2000,
    };
    let annotations = json!({"claim-rollout.io/staged-at": "1970-01-01T00:16:40Z"});
    let metadata = json!({"uid": "set-uid", "resourceVersion": "100", "annotations": annotations});
    assert_eq!(staged_at(&action, 1000), Some(json!({ "metadata": metadata })));
    assert_eq!(staged_at(&action, u64::MAX), None);
}

/// The managed fields of the reply, and the time of our write in it.
#[test]
fn time_of_the_api_server_is_that_of_our_entry() {
    let annotation = |key: &str| json!({"f:metadata": {"f:annotations": {key: {}}}});
    let entry = |manager: &str, second: u8, fields: Value| {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": format!("1970-01-01T00:00:{second:02}Z"), "fieldsV1": fields,
        })
    };
    let ours = || annotation("f:claim-rollout.io/staged-at");
    for (row, entries, expected) in [
        ("none", json!([]), None),
        ("somebody else", json!([entry("kubectl", 1, ours())]), None),
        (
            "ours, of another field",
            json!([entry("claim-rollout", 1, annotation("f:claim-rollout.io/ready"))]),
            None,
        ),
        (
            "ours, beside others",
            json!([
                entry("kubectl", 1, json!({})),
                entry("claim-rollout", 2, annotation("f:claim-rollout.io/ready")),
                entry("claim-rollout", 3, ours()),
            ]),
            Some(3),
        ),
    ] {
        let managed_fields = to_raw_value(&entries).expect("JSON");
        assert_eq!(written_at(Some(&managed_fields)), expected, "{row}");
    }
}

#[test]
fn removed_staged_change_removes_what_belongs_to_it() {
    let mut set = web().set;
    let none = staged_change(&SetStaged::none(&set)).unwrap();
    let removed = json!({
        "claim-rollout.io/staged": null, "claim-rollout.io/phase": null, "claim-rollout.io/ready": null,
        "claim-rollout.io/staged-at": null,
    });
    let metadata = json!({"uid": "set-uid", "resourceVersion": "100", "annotations": removed});
    assert_eq!(none, json!({ "metadata": metadata }));
    let seen = set.staged.take().unwrap();
    let complete = staged_change(&SetStaged::complete(&set, &seen)).unwrap();
    assert_eq!(
        complete["metadata"]["annotations"]["claim-rollout.io/phase"],
        "Complete"
    );
    let kept = complete["metadata"]["annotations"].get("claim-rollout.io/staged-at");
    assert_eq!(kept, None);
}

#[test]
fn hold_is_written_beside_the_staged_change_alone() {
    let annotations = json!({"claim-rollout.io/ready": "StagedBeforePolicy"});
    let metadata = json!({"uid": "set-uid", "resourceVersion": "100", "annotations": annotations});
    assert_eq!(hold(&version()), json!({ "metadata": metadata }));
}
