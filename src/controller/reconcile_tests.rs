use std::sync::Arc;

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{Context, ReconcileError, after_failure, reconcile};
use crate::controller::slim_set::SlimSet;
use crate::controller::{Config, WithoutPolicy, lead};
use crate::templates::{ClaimTemplate, Phase, StagedChange, UpdatePolicy};

/// A context with these sets. The API server never responds.
fn context(sets: Store<SlimSet>) -> Arc<Context> {
    let never =
        |_: axum::http::Request<Body>| std::future::pending::<Result<axum::http::Response<Body>, kube::Error>>();
    context_of(&Client::new(tower::service_fn(never), "default"), sets)
}

fn context_of(client: &Client, sets: Store<SlimSet>) -> Arc<Context> {
    let (requeue, _) = mpsc::unbounded();
    let config = Config {
        without_policy: WithoutPolicy::RollOut,
        ..Config::default()
    };
    let watched = (sets, store().0);
    let context = lead::context(&config, client, &Arc::default(), watched, requeue, Arc::default());
    Arc::new(Context {
        clock: || 1000,
        ..context
    })
}

fn set(uid: &str) -> SlimSet {
    serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "default", "uid": uid}})).unwrap()
}

#[tokio::test]
async fn completed_set_waits_until_watch_shows_the_write() {
    let at = |version: &str| -> SlimSet {
        let metadata = json!({
            "name": "web", "namespace": "default", "uid": "u", "resourceVersion": version,
            "annotations": {"claim-rollout.io/staged": "{}"},
        });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    };
    // The time is 1000.
    for (what, ended, seen, expected) in [
        ("it was not written", None, "7", None),
        ("the watch shows it as it was", Some(("7", 1000)), "7", Some(Some(30))),
        ("for a while", Some(("7", 971)), "7", Some(Some(1))),
        ("for too long", Some(("7", 970)), "7", None),
        ("the clock was set back", Some(("7", 1001)), "7", None),
        ("the watch shows the write", Some(("7", 1000)), "8", None),
    ] {
        let context = context(store().0);
        let ended = ended.map(|(version, time)| (version.to_owned(), time));
        context.remember(&at(seen), |memory| memory.ended = ended);
        assert_eq!(context.has_nothing_to_do(&at(seen)), expected, "{what}");
    }
    let context = context(store().0);
    assert_eq!(context.end(&at("7")), 30);
    assert_eq!(context.has_nothing_to_do(&at("7")), Some(Some(30)));
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
            context.remember(&reconciled, |_| {});
            if failed {
                let error = ReconcileError::Admission("no answer".to_owned());
                after_failure(Arc::clone(&reconciled), &error, Arc::clone(&context));
            } else {
                context.forget_if_deleted(&reconciled);
            }
            let remembered = context.remembered(&reconciled, |_| ()).is_some();
            assert_eq!(remembered, expected, "{what}, failed: {failed}");
        }
    }
}

/// A template of this size.
fn templates(size: &str) -> Value {
    json!([{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": size}}}}])
}

/// A StatefulSet of one replica with a staged growth.
fn growing() -> SlimSet {
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::RollingOut,
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
fn list(path: &str) -> Value {
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

/// An API server that has no definition of ClaimRollouts. Returns its client, and the paths of the patches.
fn without_definition() -> (Client, mpsc::UnboundedReceiver<String>) {
    let (patches, patched) = mpsc::unbounded();
    let answer = move |request: axum::http::Request<Body>| {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        if method == "PATCH" {
            drop(patches.unbounded_send(uri.path().to_owned()));
        }
        async move {
            if uri.query().is_some_and(|query| query.contains("watch=true")) {
                std::future::pending::<()>().await;
            }
            let missing = method != "GET" || uri.path().contains("claimrollouts");
            let (code, body) = if missing {
                (
                    404,
                    json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "", "status": "Failure"}),
                )
            } else {
                (200, list(uri.path()))
            };
            let response = axum::http::Response::builder().status(code);
            Ok::<_, kube::Error>(response.body(Body::from(body.to_string().into_bytes())).unwrap())
        }
    };
    (Client::new(tower::service_fn(answer), "default"), patched)
}

#[tokio::test]
async fn pvc_is_written_without_definition_of_reports() {
    let (client, mut patched) = without_definition();
    let set = Arc::new(growing());
    let (sets, mut writer) = store();
    writer.apply_watcher_event(&Event::Apply(SlimSet::clone(&set)));
    let context = context_of(&client, sets);
    let mut paths = Vec::new();
    let written = async {
        while !paths
            .iter()
            .any(|path: &String| path.ends_with("/persistentvolumeclaims/data-web-0"))
        {
            // The first reconciles wait for the lists.
            drop(reconcile(Arc::clone(&set), Arc::clone(&context)).await);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            while let Ok(path) = patched.try_recv() {
                paths.push(path);
            }
        }
    };
    let written = tokio::time::timeout(std::time::Duration::from_secs(30), written).await;
    assert!(written.is_ok(), "{paths:?}");
}
