use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::left_alone_tests::{STATUS, api_server, until_now};
use super::{Context, ReconcileError, after_failure, complete, reconcile};
use crate::controller::crd::ClaimRollout;
use crate::controller::fixtures;
use crate::controller::fixtures::rollout;
use crate::controller::locking::lock;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::{KruiseSet, SlimSet};
use crate::controller::reconcile::facts::has_namesake;
use crate::templates::{ClaimTemplate, Phase, Revision, StagedChange, Staging, UpdatePolicy};

/// A context with these sets. The API server never responds.
fn context(sets: Store<SlimSet>) -> Arc<Context> {
    context_of(&fixtures::silent(), (sets, store().0))
}

pub(crate) fn context_of(client: &Client, watched: (Store<SlimSet>, Store<PackedRollout>)) -> Arc<Context> {
    Arc::new(fixtures::context_at(|| 1000, client, watched))
}

pub(crate) fn set(uid: &str) -> SlimSet {
    serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "default", "uid": uid}})).unwrap()
}

/// A set with a staged change in this version.
fn at(version: &str) -> SlimSet {
    let metadata = json!({
        "name": "web", "namespace": "default", "uid": "u", "resourceVersion": version,
        "annotations": {"claim-rollout.io/staged": "{}"},
    });
    serde_json::from_value(json!({ "metadata": metadata })).unwrap()
}

/// A StatefulSet whose completion was just written.
#[tokio::test]
async fn reconcile_that_succeeds_ends_the_pauses() {
    let set = Arc::new(at("7"));
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context(sets);
    let pause = |retry_after| {
        let (what, why) = ("PVC", "no".to_owned());
        let error = ReconcileError::Write { what, why, retry_after };
        after_failure(&set, &error, &context).as_secs()
    };
    assert_eq!([None, None, Some(90)].map(pause), [1, 2, 90]);
    assert_eq!(complete(&set, &context.observer), 30);
    let reconciled = reconcile(Arc::clone(&set), Arc::clone(&context)).await;
    assert_eq!(reconciled.unwrap(), Some(Duration::from_secs(30)));
    assert_eq!(pause(None), 1);
}

#[tokio::test]
async fn set_deleted_during_reconcile_is_forgotten() {
    for (what, existing, expected) in [
        ("it exists", Some("old"), true),
        ("it is deleted", None, false),
        ("another one has its name", Some("new"), false),
    ] {
        for failed in [false, true] {
            let (sets, mut writer) = store();
            if let Some(uid) = existing {
                writer.apply_watcher_event(&Event::Apply(set(uid)));
            }
            let context = context(sets);
            let reconciled = Arc::new(set("old"));
            // The reconcile creates memory after the set was forgotten.
            context.observer.memories.remember(&reconciled, |_| {});
            if failed {
                let error = ReconcileError::Admission("no answer".to_owned());
                after_failure(&reconciled, &error, &context);
            } else {
                context.observer.forget_if_deleted(&reconciled);
            }
            let remembered = context.observer.memories.remembered(&reconciled, |_| ()).is_some();
            assert_eq!(remembered, expected, "{what}, failed: {failed}");
        }
    }
}

/// A template of this size.
pub(crate) fn templates(size: &str) -> Value {
    json!([{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}}])
}

/// A StatefulSet of one replica with a staged growth.
pub(super) fn growing() -> SlimSet {
    let change = StagedChange {
        replicas: 0,
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::RollingOut,
        staging: Staging::read("xz245").expect("a staging"),
        templates: ClaimTemplate::list_from_value(templates("2Gi")).unwrap(),
        uid: "u".to_owned(),
        update_policy: UpdatePolicy::InPlace,
    };
    let staged = change.write().unwrap();
    let metadata = json!({
        "name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": 1,
        "annotations": {"claim-rollout.io/staged": staged},
    });
    let spec = json!({
        "replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "volumeClaimTemplates": templates("1Gi"),
    });
    let status = json!({"observedGeneration": 1});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

/// The list of a kind: one PVC, and nothing else.
pub(crate) fn list(path: &str) -> Value {
    let metadata = json!({
        "name": "data-web-0", "namespace": "default", "uid": "c", "resourceVersion": "3", "labels": {"app": "web"},
    });
    let claim = json!({
        "metadata": metadata, "spec": templates("1Gi")[0]["spec"],
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    });
    let items = if path.ends_with("/persistentvolumeclaims") {
        json!([claim])
    } else {
        json!([])
    };
    json!({"metadata": {"resourceVersion": "9"}, "items": items})
}

#[tokio::test]
async fn pvc_is_written_without_definition_of_reports() {
    let missing = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "", "status": "Failure"});
    let is_missing = |request: &str| request.contains("/claimrollouts");
    let (client, mut written) = api_server(move |request| is_missing(request).then(|| (404, missing.clone())));
    let set = Arc::new(growing());
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context_of(&client, (sets, store().0));
    let is_claim = |(target, _): &(String, Value)| target.ends_with("/persistentvolumeclaims/data-web-0");
    let written = async {
        while !until_now(&mut written).iter().any(is_claim) {
            // The first reconciles wait for the lists.
            drop(reconcile(Arc::clone(&set), Arc::clone(&context)).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_written = tokio::time::timeout(Duration::from_secs(30), written).await;
    assert!(is_written.is_ok());
}

/// The ClaimRollout of a StatefulSet whose replacement was cut short after its last step, in this version.
fn cut_short(version: &str) -> ClaimRollout {
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid"});
    let metadata = json!({
        "name": "web", "namespace": "default", "uid": "r", "resourceVersion": version, "ownerReferences": [owner],
    });
    let live = ClaimTemplate::list_from_value(templates("2Gi")).unwrap();
    let revision = Revision::of(&live).to_string();
    let replacement = json!({"phase": "InProgress", "since": "2026-01-01T00:00:00Z"});
    let mut cut_short = rollout(
        &metadata,
        &json!({"updateRevision": revision, "replacement": replacement}),
    );
    cut_short.spec.revision = revision;
    cut_short.spec.update_policy = UpdatePolicy::OnClaimDelete.to_string();
    cut_short.spec.templates = live.iter().map(|live| live.to_value().into()).collect();
    cut_short
}

/// An API server that stores each patch of the status of a ClaimRollout in the next version, except for the first: that
/// one comes too late, and the watch shows the newer version before the refusal arrives. Returns its client, what the
/// watch shows, and the number of patches that were stored.
fn overtaken_once() -> (Client, Store<PackedRollout>, Arc<AtomicUsize>) {
    let (reports, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(PackedRollout::of(&cut_short("1"))));
    let (writer, stored, patches) = (Arc::new(Mutex::new(writer)), Arc::default(), AtomicUsize::new(0));
    let counted: Arc<AtomicUsize> = Arc::clone(&stored);
    let client = fixtures::serving(move |request| {
        let is_status = request.path.ends_with("/status");
        Some(if is_status && patches.fetch_add(1, Ordering::Relaxed) == 0 {
            lock(&writer).apply_watcher_event(&Event::Apply(PackedRollout::of(&cut_short("2"))));
            let body = json!({"kind": "Status", "code": 409, "reason": "Conflict", "message": "", "status": "Failure"});
            (409, body)
        } else {
            counted.fetch_add(usize::from(is_status), Ordering::Relaxed);
            (200, json!(cut_short("3")))
        })
    });
    (client, reports, stored)
}

/// A replacement writes to the same object: the reconcile after it may be too late by one version.
#[tokio::test]
async fn report_that_came_too_late_is_written_again() {
    let (client, reports, stored) = overtaken_once();
    let set = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "set-uid", "resourceVersion": "7", "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "volumeClaimTemplates": templates("2Gi")},
        "status": {"observedGeneration": 1},
    });
    let set: Arc<SlimSet> = Arc::new(serde_json::from_value(set).unwrap());
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context_of(&client, (sets, reports));
    let mut requeued = Vec::new();
    for _ in 0..2 {
        requeued.push(reconcile(Arc::clone(&set), Arc::clone(&context)).await.unwrap());
    }
    assert_eq!(stored.load(Ordering::Relaxed), 1, "{requeued:?}");
}

/// The PVCs of two sets with one name have the same names.
#[tokio::test]
async fn set_of_openkruise_has_namesake_of_kubernetes() {
    let named = |annotations: &Value| {
        let metadata = json!({"name": "web", "namespace": "default", "uid": "k", "annotations": annotations});
        json!({ "metadata": metadata })
    };
    let managed = named(&json!({"claim-rollout.io/update-policy": "InPlace"}));
    let KruiseSet(rolled_out) = serde_json::from_value(managed.clone()).unwrap();
    let KruiseSet(plain) = serde_json::from_value(named(&Value::Null)).unwrap();
    let of_kubernetes: SlimSet = serde_json::from_value(managed).unwrap();
    for (what, set, others, expected) in [
        ("it has one", &rolled_out, Some("web"), true),
        ("another name", &rolled_out, Some("db"), false),
        ("only one kind is watched", &rolled_out, None, false),
        ("it is not rolled out", &plain, Some("web"), false),
        ("the one of Kubernetes goes first", &of_kubernetes, Some("web"), false),
    ] {
        let others = others.map(|name| {
            let (others, mut writer) = store();
            let other = json!({"metadata": {"name": name, "namespace": "default", "uid": "a"}});
            writer.apply_watcher_event(&Event::Apply(serde_json::from_value(other).unwrap()));
            others
        });
        let mut context = Arc::into_inner(context(store().0)).unwrap();
        context.observer.cache.others = others;
        assert_eq!(has_namesake(&context.observer.cache, set), expected, "{what}");
    }
}

#[tokio::test]
async fn status_is_written_although_the_history_is_not() {
    let failed = |code: u16| {
        let status = json!({"kind": "Status", "code": code, "message": "no", "status": "Failure"});
        Some((code, status))
    };
    let (client, mut written) = api_server(move |request| match request.rsplit('/').next() {
        Some("controllerrevisions") if request.starts_with("POST ") => failed(500),
        Some("data-web-0") => failed(403),
        _ => None,
    });
    let set = Arc::new(growing());
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context_of(&client, (sets, store().0));
    let mut last = None;
    let status = async {
        while until_now(&mut written).iter().all(|(target, _)| target != STATUS) {
            // The first reconciles wait for the lists.
            last = Some(reconcile(Arc::clone(&set), Arc::clone(&context)).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_written = tokio::time::timeout(Duration::from_secs(30), status).await;
    assert!(is_written.is_ok(), "{last:?}");
    let error = last.map(|last| last.map_err(|error| error.to_string()));
    assert!(
        matches!(&error, Some(Err(error)) if error.starts_with("failed to write ControllerRevision")),
        "{error:?}"
    );
    let unkept = context.observer.memories.remembered(&set, |memory| memory.unkept);
    assert_eq!(unkept, Some(1), "the next reconcile writes the history");
}
