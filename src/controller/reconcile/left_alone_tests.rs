//! StatefulSets that are not rolled out for a reason outside of them: a namesake, or lists that fail.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::channel::mpsc;
use kube::Client;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::tests::{context_of, growing, list, set, templates};
use super::{Context, reconcile};
use crate::controller::fixtures;
use crate::controller::fixtures::{ReceivedRequest, rollout};
use crate::controller::locking::lock;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::{KruiseSet, SlimSet};
use crate::controller::places::class_places;
use crate::controller::places::class_places::ClassPlaces;
use crate::controller::places::class_places::tests::at_once;
use crate::controller::registrations::admission::{Admission, WithoutPolicy};
use crate::gate::ClaimState;
use crate::rollout::fixtures::web;
use crate::rollout::{ClaimProgress, plan};

const EVENTS: &str = "POST /api/v1/namespaces/default/events";
const REPORTS: &str = "POST /apis/claim-rollout.io/v1alpha1/namespaces/default/claimrollouts";
const SPEC: &str = "PATCH /apis/claim-rollout.io/v1alpha1/namespaces/default/claimrollouts/web";
pub(super) const STATUS: &str = "PATCH /apis/claim-rollout.io/v1alpha1/namespaces/default/claimrollouts/web/status";
const CLAIM: &str = "PATCH /api/v1/namespaces/default/persistentvolumeclaims/data-web-0";

/// The writes, and the places of the storage classes.
type BesideNamesake = (Vec<(String, Value)>, Arc<ClassPlaces>);

pub(crate) type Written = mpsc::UnboundedReceiver<(String, Value)>;

/// The code and the body of the answer to a list of Pods, if it is not the usual one.
type ListOfPods = Arc<Mutex<Option<(u16, Value)>>>;

/// An API server that accepts everything. Returns its client, and the writes: their methods, paths and bodies.
fn accepting(pods: &ListOfPods) -> (Client, Written) {
    let pods = Arc::clone(pods);
    api_server(move |request| {
        lock(&pods)
            .clone()
            .filter(|_| request.starts_with("GET ") && request.ends_with("/pods"))
    })
}

/// An API server that accepts everything that has no other reply: a code and a body for a method and a path. It stores the
/// spec of the ClaimRollout, and each PVC in its next version.
pub(crate) fn api_server(reply: impl Fn(&str) -> Option<(u16, Value)> + Send + Sync + 'static) -> (Client, Written) {
    let (writes, written) = mpsc::unbounded();
    let spec = Mutex::<Value>::default();
    let client = fixtures::serving(move |request| {
        if request.is_watch() {
            return None;
        }
        let reply = reply(&request.target());
        if request.method == "GET" {
            return reply.or_else(|| Some((200, list(&request.path))));
        }
        drop(writes.unbounded_send((request.target(), request.body.clone())));
        reply.or_else(|| Some((200, stored(request, &spec))))
    });
    (client, written)
}

/// The object of this write, after others with this spec of the ClaimRollout.
fn stored(request: &ReceivedRequest, spec: &Mutex<Value>) -> Value {
    let mut body = request.body.clone();
    if request.path.contains("/persistentvolumeclaims/") {
        body["metadata"]["resourceVersion"] = "4".into();
    }
    if request.path.contains("/claimrollouts") {
        if body["spec"].is_object() {
            *lock(spec) = body["spec"].take();
        }
        let metadata = json!({"name": "web", "namespace": "default", "uid": "r"});
        body = json!(rollout(&metadata, &body["status"]));
        if lock(spec).is_object() {
            body["spec"] = lock(spec).clone();
        }
    }
    body
}

/// The writes since the last call.
pub(super) fn until_now(written: &mut Written) -> Vec<(String, Value)> {
    let mut writes = Vec::new();
    while let Ok(write) = written.try_recv() {
        writes.push(write);
    }
    writes
}

/// The writes of a reconcile of a StatefulSet of OpenKruise, which has the name of one of Kubernetes. That one is managed,
/// or has the ClaimRollout of this name.
async fn writes_beside_namesake(is_managed: bool, report_of: Option<&str>, places: ClassPlaces) -> BesideNamesake {
    let annotations = json!({"claim-rollout.io/update-policy": "InPlace"});
    let metadata =
        json!({"name": "web", "namespace": "default", "uid": "k", "generation": 1, "annotations": annotations});
    let spec =
        json!({"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "volumeClaimTemplates": templates("2Gi")});
    let sent = json!({"metadata": metadata, "spec": spec, "status": {"observedGeneration": 1}});
    let KruiseSet(set) = serde_json::from_value(sent).unwrap();
    let staged = json!({"claim-rollout.io/staged": "{}"});
    let annotations = if is_managed { staged } else { json!({}) };
    let other =
        json!({"metadata": {"name": "web", "namespace": "default", "uid": "set-uid", "annotations": annotations}});
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(set.clone()));
    let (others, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(serde_json::from_value(other).unwrap()));
    let (reports, mut writer) = store();
    if let Some(uid) = report_of {
        let mut report = rollout(&json!({"name": "web", "namespace": "default", "uid": "r"}), &json!({}));
        uid.clone_into(&mut report.spec.set_ref.uid);
        writer.apply_watcher_event(&Event::Apply(PackedRollout::of(&report)));
    }
    let (client, mut written) = accepting(&Arc::default());
    let mut context = Arc::into_inner(context_of(&client, (sets, reports))).unwrap();
    context.observer.cache.others = Some(others);
    context.observer.places = Arc::new(places);
    let places = Arc::clone(&context.observer.places);
    reconcile(Arc::new(set), Arc::new(context)).await.unwrap();
    (until_now(&mut written), places)
}

/// It does not keep the sets waiting that use a class with a limit.
#[tokio::test]
async fn set_with_namesake_counts_as_read_by_budgets() {
    let places = at_once(1);
    assert_eq!(class_places::tests::writes(&places, "a", &["k"]), 0, "it was not read");
    let (_, places) = writes_beside_namesake(false, None, places).await;
    assert_eq!(class_places::tests::writes(&places, "a", &["k"]), 1, "it was read");
}

#[tokio::test]
async fn set_with_namesake_is_reported_and_not_rolled_out() {
    for (what, is_managed, report_of, expected) in [
        ("nobody has a ClaimRollout", false, None, &[REPORTS, STATUS, EVENTS][..]),
        ("it has one", false, Some("k"), &[SPEC, STATUS, EVENTS]),
        (
            "an earlier set had one",
            false,
            Some("deleted"),
            &[SPEC, STATUS, EVENTS],
        ),
        ("the other has it", false, Some("set-uid"), &[EVENTS]),
        ("the other will have it", true, None, &[EVENTS]),
    ] {
        let (writes, _) = writes_beside_namesake(is_managed, report_of, ClassPlaces::default()).await;
        let paths: Vec<&str> = writes.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, expected, "{what}");
        for (path, body) in &writes {
            if path == STATUS {
                let stalled = &body["status"]["conditions"][2];
                assert_eq!(
                    (&stalled["status"], &stalled["reason"]),
                    (&json!("True"), &json!("NotSupported")),
                    "{what}"
                );
            }
            if path == EVENTS {
                let message = body["message"].as_str().unwrap();
                assert!(
                    message.contains("A StatefulSet of apps/v1 has the same name"),
                    "{what}: {message}"
                );
            }
        }
    }
}

/// The ClaimRollout of its namesake is none of a set that nobody rolls out.
#[tokio::test]
async fn unmanaged_set_leaves_report_of_its_namesake() {
    let set: SlimSet = set("a");
    let (reports, mut writer) = store();
    let report = rollout(&json!({"name": "web", "namespace": "default", "uid": "r"}), &json!({}));
    writer.apply_watcher_event(&Event::Apply(PackedRollout::of(&report)));
    let (others, mut writer) = store();
    let other = json!({"metadata": {"name": "web", "namespace": "default", "uid": "set-uid"}});
    let KruiseSet(other) = serde_json::from_value(other).unwrap();
    writer.apply_watcher_event(&Event::Apply(other));
    let (client, mut written) = accepting(&Arc::default());
    let mut context = Arc::into_inner(context_of(&client, (store().0, reports))).unwrap();
    context.observer.cache.others = Some(others);
    reconcile(Arc::new(set), Arc::new(context)).await.unwrap();
    assert!(written.try_recv().is_err());
}

/// The reason of the condition `Stalled` in the last report of these writes, if it is true.
pub(crate) fn stalled(writes: &[(String, Value)]) -> Option<&Value> {
    let (_, body) = writes.iter().rfind(|(path, _)| path == STATUS)?;
    let stalled = &body["status"]["conditions"][2];
    (stalled["status"] == "True").then(|| &stalled["reason"])
}

#[tokio::test]
async fn set_is_reported_while_its_lists_fail() {
    let forbidden = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods is forbidden", "status": "Failure"});
    let pods: ListOfPods = Arc::new(Mutex::new(Some((403, forbidden))));
    let (client, mut written) = accepting(&pods);
    let set = Arc::new(growing());
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context_of(&client, (sets, store().0));
    let reconciled = async || reconcile(Arc::clone(&set), Arc::clone(&context)).await.unwrap();
    reconciled().await;
    assert_eq!(until_now(&mut written), [], "they are not complete yet");

    // As if they had failed for a minute.
    let view = context.observer.view(&set).unwrap();
    let opened = context.observer.cache.opened(&set, &view);
    let (_, failing) = &opened.failing[1];
    for ago in [60, 0] {
        let at = Instant::now() - Duration::from_secs(ago);
        lock(failing).failed("403 pods is forbidden".to_owned(), at);
    }
    reconciled().await;
    let writes = until_now(&mut written);
    let paths: Vec<&str> = writes.iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths, [REPORTS, STATUS, EVENTS]);
    assert_eq!(stalled(&writes), Some(&json!("ListFails")));
    let message = "Failed to read Pods: 403 pods is forbidden";
    assert_eq!(writes[1].1["status"]["conditions"][0]["message"], message);

    *lock(&pods) = None;
    let mut writes = Vec::new();
    let ended = async {
        while !writes.iter().any(|(path, _): &(String, Value)| path == CLAIM) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            reconciled().await;
            writes.extend(until_now(&mut written));
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), ended).await.is_ok());
    assert_eq!(stalled(&writes), None, "it ends by itself");
}

/// A context whose PVCs and Pods are listed.
async fn listed(client: &Client, set: &Arc<SlimSet>, is_stopping: bool) -> Context {
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(set)));
    let context = fixtures::context_at(|| 1000, client, (sets, store().0));
    context.stopping.store(is_stopping, Ordering::Release);
    let view = context.observer.view(set).unwrap();
    let ready = async {
        while !context.observer.cache.opened(set, &view).is_ready() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.unwrap();
    context
}

#[tokio::test]
async fn stopping_controller_begins_no_write() {
    for is_stopping in [true, false] {
        let (client, mut written) = accepting(&Arc::default());
        let set = Arc::new(growing());
        let context = listed(&client, &set, is_stopping).await;
        reconcile(Arc::clone(&set), Arc::new(context)).await.unwrap();
        let writes = until_now(&mut written);
        let is_written = writes.iter().any(|(path, _)| path == CLAIM);
        assert_eq!(is_written, !is_stopping, "{writes:?}");
    }
}

/// Whoever may write an annotation could stage a change there.
#[tokio::test]
async fn namespace_without_policy_gets_no_pvc_written() {
    for (without, is_rolled_out) in [(WithoutPolicy::Stall, false), (WithoutPolicy::RollOut, true)] {
        let (client, mut written) = accepting(&Arc::default());
        let set = Arc::new(growing());
        let mut context = listed(&client, &set, false).await;
        let admission = Admission::new(client, Arc::default(), None, without, Arc::default());
        context.admission = Arc::new(admission);
        reconcile(Arc::clone(&set), Arc::new(context)).await.unwrap();
        let writes = until_now(&mut written);
        let is_written = writes.iter().any(|(path, _)| path == CLAIM);
        assert_eq!(is_written, is_rolled_out, "{without:?}: {writes:?}");
        let reason = stalled(&writes).cloned();
        assert_eq!(reason, (!is_rolled_out).then(|| json!("PolicyMissing")), "{without:?}");
    }
}

/// A Pod that cannot be read is not taken for one that does not exist.
#[tokio::test]
async fn set_is_reported_while_its_pod_cannot_be_read() {
    let metadata = |name: &str| json!({"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"});
    for (pod, is_of_set) in [("web-0", true), ("other-0", false)] {
        let unreadable = json!({"metadata": metadata(pod), "spec": 5});
        let list = json!({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [unreadable]});
        let (client, mut written) = accepting(&Arc::new(Mutex::new(Some((200, list)))));
        let set = Arc::new(growing());
        let context = listed(&client, &set, false).await;
        reconcile(Arc::clone(&set), Arc::new(context)).await.unwrap();
        let writes = until_now(&mut written);
        let is_written = writes.iter().any(|(path, _)| path == CLAIM);
        let reason = stalled(&writes).is_some_and(|reason| reason == "ListFails");
        assert_eq!((reason, is_written), (is_of_set, !is_of_set), "{pod}: {writes:?}");
        if is_of_set {
            let status = writes.iter().find(|(path, _)| path == STATUS);
            let message = status.map(|(_, body)| body["status"]["conditions"][0]["message"].to_string());
            let message = message.unwrap_or_default();
            assert!(message.starts_with("\"Failed to read Pods: web-0: "), "{message}");
        }
    }
}

/// It is in no report, so its Event would be emitted again and again.
#[tokio::test]
async fn what_has_no_place_in_the_report_is_remembered() {
    let (client, _written) = accepting(&Arc::default());
    let set = Arc::new(growing());
    let context = listed(&client, &set, false).await;
    let mut plan = plan(&web());
    let claim = ClaimProgress {
        state: ClaimState::Infeasible,
        message: "no".to_owned(),
        ..plan.progress.claims.remove(0)
    };
    let known = [(
        claim.name.clone(),
        ("Infeasible".to_owned(), claim.reason.clone(), "no".to_owned()),
    )];
    plan.progress.unlisted = vec![claim];
    context.observer.memories.remember(&set, |_| {});
    let view = context.observer.view(&set).unwrap();
    context.reporter.report(&set, &view, &plan, None).await.unwrap();
    let unlisted = context
        .observer
        .memories
        .remembered(&set, |memory| memory.unlisted.clone());
    assert_eq!(unlisted, Some(known.into()));
}
