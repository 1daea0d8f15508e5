use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{RoundOutcome, SlimSet, Writer, delete, delete_claim, mark, mark_claim, take_snapshot, volume_snapshot};
use crate::controller::fixtures;
use crate::rollout::fixtures::label;
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

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn set() -> SlimSet {
    let metadata = json!({"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "3"});
    serde_json::from_value(json!({ "metadata": metadata })).expect("a set")
}

/// A writer whose API server answers every request like this.
fn answering(code: u16, body: &Value) -> Writer {
    let client = fixtures::answering(code, body);
    Writer {
        caller: fixtures::caller(&client, || NOW.get()),
        memories: Arc::default(),
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
            let writer = answering(*code, body);
            let execute = async || match step {
                "mark" => mark_claim(&writer, &set, &claim(), true).await,
                "unmark" => mark_claim(&writer, &set, &claim(), false).await,
                "delete" => delete_claim(&writer, &set, &claim()).await,
                _ => take_snapshot(&writer, &set, &take).await,
            };
            let is_reported = || {
                writer
                    .memories
                    .remembered(&set, |memory| memory.not_recreated.is_some())
                    == Some(true)
            };
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
