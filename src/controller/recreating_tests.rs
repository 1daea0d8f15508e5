use std::cell::Cell;

use kube::api::DynamicObject;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Context, RoundOutcome, SlimSet, delete, explained, mark, view, volume_snapshot};
use crate::controller::fixtures;
use crate::rollout::fixtures::{label, web};
use crate::rollout::volume_snapshot::{ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::rollout::{ClaimOf, TakeSnapshot};

fn claim() -> ClaimOf {
    ClaimOf {
        name: "data-web-2".to_owned(),
        uid: "u2".to_owned(),
        resource_version: "7".to_owned(),
        snapshot: None,
        label: label("6c9f7d5b84"),
    }
}

#[test]
fn writes_of_a_re_creation_name_uid_and_version() {
    let preconditions = delete(&claim()).preconditions.expect("preconditions");
    assert_eq!(preconditions.uid.as_deref(), Some("u2"));
    assert_eq!(preconditions.resource_version.as_deref(), Some("7"));
    for (is_marked, value) in [(true, json!("6c9f7d5b84.xz245")), (false, json!(null))] {
        let expected = json!({"metadata": {
            "uid": "u2", "resourceVersion": "7",
            "annotations": {"claim-rollout.io/recreated-for": value},
        }});
        assert_eq!(mark(&claim(), is_marked), expected);
    }
}

#[test]
fn volume_snapshot_names_its_claim_set_and_revision() {
    let take = TakeSnapshot {
        name: "u2-6c9f7d5b84".to_owned(),
        class: "fast".to_owned(),
        set: "web".to_owned(),
        of: claim(),
    };
    let expected = json!({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {
            "name": "u2-6c9f7d5b84",
            "labels": {"claim-rollout.io/revision": "6c9f7d5b84"},
            "annotations": {"claim-rollout.io/of-set": "web", "claim-rollout.io/of-claim": "data-web-2"},
        },
        "spec": {"volumeSnapshotClassName": "fast", "source": {"persistentVolumeClaimName": "data-web-2"}},
    });
    assert_eq!(volume_snapshot(&take), expected);
}

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

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn set() -> SlimSet {
    let metadata = json!({"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "3"});
    serde_json::from_value(json!({ "metadata": metadata })).expect("a set")
}

/// A context whose API server answers every request like this.
fn answering(code: u16, body: &Value) -> Context {
    let client = fixtures::answering(code, body);
    Context {
        clock: || NOW.get(),
        ..fixtures::context(&client, (store().0, store().0))
    }
}

/// Otherwise another one would be made of a PVC whose VolumeSnapshots may not be read.
#[tokio::test]
async fn volume_snapshot_is_absent_only_if_not_found() {
    for (code, is_absent) in [(404, true), (403, false), (500, false)] {
        let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": "no"});
        let (context, mut snapshot) = (answering(code, &status), web());
        let question = ReCreateQuestion::VolumeSnapshot("s".to_owned());
        context.answer(&set(), &question, &mut snapshot).await;
        let answer = &snapshot.recreate.volume_snapshots["s"];
        let is_unreadable = matches!(answer, VolumeSnapshotAnswer::Unreadable(why) if why.contains("no"));
        assert_eq!(*answer == VolumeSnapshotAnswer::Absent, is_absent, "{code}: {answer:?}");
        assert_eq!(is_unreadable, !is_absent, "{code}: {answer:?}");
    }
}

/// Whatever is answered to a step that is not done: it is not repeated at once, and soon the status reports it.
#[tokio::test]
async fn step_not_done_pauses_and_is_reported() {
    let set = set();
    let take = TakeSnapshot {
        name: "u2-6c9f7d5b84".to_owned(),
        class: "fast".to_owned(),
        set: "web".to_owned(),
        of: claim(),
    };
    let claim_of = |uid: &str| {
        json!({"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            "metadata": {"name": "data-web-2", "uid": uid, "resourceVersion": "7"}})
    };
    let mut answers = fixtures::not_done();
    // A webhook drops what was written, or answers with another object.
    answers.extend([(200, claim_of("u2")), (200, claim_of("other"))]);
    for step in ["mark", "unmark", "delete", "snapshot"] {
        for (code, body) in &answers {
            let row = format!("{step}: {code} {body}");
            let context = answering(*code, body);
            let execute = async || match step {
                "mark" => context.mark_claim(&set, &claim(), true).await,
                "unmark" => context.mark_claim(&set, &claim(), false).await,
                "delete" => context.delete_claim(&set, &claim()).await,
                _ => context.take_snapshot(&set, &take).await,
            };
            let is_reported = || context.remembered(&set, |memory| memory.not_recreated.is_some()) == Some(true);
            NOW.set(1000);
            drop(execute().await);
            if !is_reported() {
                assert_eq!(execute().await.unwrap(), RoundOutcome::Overtaken, "{row}");
            }
            NOW.set(1031);
            assert_eq!(execute().await.unwrap(), RoundOutcome::DecideAgain, "{row}");
            assert!(is_reported(), "{row}");
        }
    }
}
