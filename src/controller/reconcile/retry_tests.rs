use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{answer_retry, retry_if_asked};
use crate::controller::fixtures;
use crate::controller::memory::memories::RolloutMemory;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::SlimSet;
use crate::rollout::machine::RetriedWrite;

fn set() -> SlimSet {
    serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "default", "uid": "set-uid"}})).unwrap()
}

#[tokio::test]
async fn request_ends_pauses_once_and_is_removed_when_reported() {
    let denial = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403});
    let (client, received) = fixtures::recording(move |_| Some((403, denial.clone())));
    let (reports, mut writer) = store();
    let context = fixtures::context_at(|| 1000, &client, (store().0, reports));
    let memories = &context.observer.memories;
    let set = set();
    // A removal that was denied does not end the pauses again and again.
    for (what, request, expected) in [
        ("there is none", None, false),
        ("the first", Some("a"), true),
        ("the same, which is still there", Some("a"), false),
        ("another", Some("b"), true),
        ("it is removed", None, false),
        ("the same words again", Some("b"), true),
    ] {
        let annotations = request.map(|request| json!({"claim-rollout.io/retry": request}));
        let metadata = json!({"name": "web", "namespace": "default", "uid": "r", "annotations": annotations});
        let report = fixtures::rollout(&metadata, &Value::Null);
        writer.apply_watcher_event(&Event::Apply(PackedRollout::of(&report)));
        let undone = (0..9).fold(None, |before, _| {
            Some(RetriedWrite::again(before.as_ref(), "it".to_owned(), 1000))
        });
        memories.remember(&set, |memory| memory.write_denied = undone);
        let report = retry_if_asked(&set, context.observer.report_of(&set), memories, &context.replacements);
        let denied = memories
            .remembered(&set, |memory| memory.write_denied.clone())
            .flatten();
        let is_due = denied.is_some_and(|denied| denied.retry_at(1000) <= 1000);
        assert_eq!(is_due, expected, "{what}");
        let removal = json!({"metadata": {"uid": "r", "annotations": {"claim-rollout.io/retry": null}}});
        let target = "PATCH /apis/claim-rollout.io/v1alpha1/namespaces/default/claimrollouts/web";
        let removals = [(target.to_owned(), removal)];
        for (is_reported, removed) in [(false, false), (true, expected)] {
            if is_reported {
                memories.remembered(&set, RolloutMemory::retry_is_reported);
            }
            if let Some(report) = &report {
                answer_retry(&set, report, memories, &context.writer.caller).await;
            }
            let found = received.take().into_iter();
            let found: Vec<_> = found.map(|request| (request.target(), request.body)).collect();
            assert_eq!(
                found,
                removals[..usize::from(removed)],
                "{what}, reported: {is_reported}"
            );
        }
    }
}
