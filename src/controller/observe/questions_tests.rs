use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{MaxInMotion, answer, explained, view};
use crate::controller::fixtures;
use crate::rollout::fixtures::web;
use crate::rollout::volume_snapshot::{ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};

#[test]
fn volume_snapshot_is_ready_only_by_its_status() {
    let of = |status: Value| {
        let object = json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": {"name": "s"},
            "spec": {"source": {"persistentVolumeClaimName": "data-web-2"}, "volumeSnapshotClassName": "fast"},
            "status": status,
        });
        view(&serde_json::from_value::<DynamicObject>(object).expect("an object"))
    };
    let found = VolumeSnapshot {
        claim: "data-web-2".to_owned(),
        class: Some("fast".to_owned()),
        ..VolumeSnapshot::default()
    };
    let ready = VolumeSnapshot {
        is_ready: true,
        ..found.clone()
    };
    let failed = VolumeSnapshot {
        error: Some("no space".to_owned()),
        ..found.clone()
    };
    for (row, status, expected) in [
        ("no status", json!(null), &found),
        ("not ready", json!({"readyToUse": false}), &found),
        ("no boolean", json!({"readyToUse": "true"}), &found),
        ("ready", json!({"readyToUse": true}), &ready),
        (
            "taken",
            json!({"readyToUse": true, "creationTime": "1970-01-01T00:16:40Z"}),
            &VolumeSnapshot {
                taken: Some(1000),
                ..ready.clone()
            },
        ),
        (
            "an unknown time",
            json!({"readyToUse": true, "creationTime": "yesterday"}),
            &ready,
        ),
        (
            "an error",
            json!({"readyToUse": false, "error": {"message": "no space"}}),
            &failed,
        ),
    ] {
        assert_eq!(of(status), *expected, "{row}");
    }
}

#[test]
fn missing_right_names_the_manifest() {
    let text = explained("Forbidden", "cannot delete".to_owned());
    assert_eq!(
        text,
        "cannot delete; the rights are in deploy/recreate.yaml (chart: features.reCreate)"
    );
    assert_eq!(explained("Invalid", "no".to_owned()), "no");
}

/// Otherwise another one would be made of a PVC whose VolumeSnapshots may not be read.
#[tokio::test]
async fn volume_snapshot_is_absent_only_if_not_found() {
    for (code, is_absent) in [(404, true), (403, false), (500, false)] {
        let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": "no"});
        let (client, mut snapshot) = (fixtures::answering(code, &status), web());
        let question = ReCreateQuestion::VolumeSnapshot("s".to_owned());
        answer(&client, MaxInMotion::default(), &question, &mut snapshot).await;
        let answer = &snapshot.recreate.volume_snapshots["s"];
        let is_unreadable = matches!(answer, VolumeSnapshotAnswer::Unreadable(why) if why.contains("no"));
        assert_eq!(*answer == VolumeSnapshotAnswer::Absent, is_absent, "{code}: {answer:?}");
        assert_eq!(is_unreadable, !is_absent, "{code}: {answer:?}");
    }
}
