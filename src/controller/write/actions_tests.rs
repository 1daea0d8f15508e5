use std::cell::Cell;
use std::sync::Arc;

use kube::Client;
use serde_json::json;

use super::{RoundOutcome, SlimSet, Writer, execute};
use crate::controller::fixtures;
use crate::controller::fixtures::ReceivedRequests;
use crate::rollout::fixtures::{apply, web};
use crate::rollout::{Action, Refusal, SetStagedAt};
use crate::templates::keys;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A writer to the API server of this client.
fn writer(client: &Client) -> Writer {
    Writer {
        caller: fixtures::caller(client, || NOW.get()),
        memories: Arc::default(),
    }
}

/// A writer whose API server answers every request like this.
fn answering(code: u16, message: &str) -> Writer {
    let body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": "", "message": message});
    let client = fixtures::answering(code, &body);
    writer(&client)
}

/// A writer whose API server stores every object in version 8, at second 2000 of its clock; and what it gets.
fn storing() -> (Writer, ReceivedRequests) {
    let (client, received) = fixtures::recording(|request| {
        let mut body = request.body.clone();
        if let Some(annotations) = body["metadata"]["annotations"].as_object_mut() {
            annotations.retain(|_, value| !value.is_null());
        }
        body["metadata"]["resourceVersion"] = "8".into();
        let fields = json!({"f:metadata": {"f:annotations": {"f:claim-rollout.io/staged-at": {}}}});
        body["metadata"]["managedFields"] =
            json!([{"manager": "claim-rollout", "time": "1970-01-01T00:33:20Z", "fieldsV1": fields}]);
        Some((200, body))
    });
    (writer(&client), received)
}

fn set() -> SlimSet {
    let metadata = json!({"name": "web", "namespace": "default", "uid": "set-uid", "resourceVersion": "100"});
    serde_json::from_value(json!({ "metadata": metadata })).expect("a set")
}

fn denials(writer: &Writer) -> Vec<Refusal> {
    let denials = writer
        .memories
        .remembered(&set(), |memory| memory.denials.values().cloned().collect());
    denials.unwrap_or_default()
}

const WEBHOOK: &str = "admission webhook \"x\" denied the request: no";

/// The API server, or what it calls, answers as if the PVC had changed, and it has not.
#[tokio::test]
async fn each_claim_is_overtaken_for_itself() {
    for (code, cause) in [(409, "Conflict"), (404, "NotFound"), (410, "NotFound")] {
        let writer = answering(code, WEBHOOK);
        for now in [1000, 1010, 1020, 1030] {
            NOW.set(now);
            for ordinal in [2, 1] {
                execute(&writer, &set(), &apply(&web(), ordinal)).await.unwrap();
            }
        }
        let denials = denials(&writer).into_iter();
        let found: Vec<_> = denials.map(|denial| (denial.cause, denial.message)).collect();
        let expected = (cause.to_owned(), format!("{code} {WEBHOOK}"));
        assert_eq!(found, [expected.clone(), expected], "{code}");
    }
}

/// PVCs that were created since then are never deleted, so no clock that is ahead may count.
#[tokio::test]
async fn staged_at_is_the_earlier_of_both_clocks() {
    for (ours, expected) in [(1000, "1970-01-01T00:16:40Z"), (3000, "1970-01-01T00:33:20Z")] {
        let (writer, received) = storing();
        let action = SetStagedAt {
            set: web().set.version(),
            at: ours,
        };
        let outcome = execute(&writer, &set(), &Action::SetStagedAt(action)).await.unwrap();
        assert_eq!(outcome, RoundOutcome::Nothing);
        let mut stored = received.take();
        stored.retain(|request| !request.query.contains("dryRun"));
        let annotations = stored.iter().map(|request| &request.body["metadata"]["annotations"]);
        let annotations: Vec<_> = annotations.collect();
        assert_eq!(annotations, [&json!({(keys::STAGED_AT): expected})], "{ours}");
    }
}

/// The watch shows the annotation later.
#[tokio::test]
async fn modification_of_a_pvc_counts_from_the_reply_on() {
    let (writer, _) = storing();
    let Action::ApplyClaim(mut apply) = apply(&web(), 2) else {
        unreachable!()
    };
    let time = "1970-01-01T00:16:40Z".to_owned();
    apply.annotations.insert(keys::MODIFIED.to_owned(), time);
    let uid = apply.uid.clone();
    execute(&writer, &set(), &Action::ApplyClaim(apply)).await.unwrap();
    let modified = writer.memories.remembered(&set(), |memory| memory.modified.clone());
    assert_eq!(modified, Some([(uid, vec![1000])].into()));
}
