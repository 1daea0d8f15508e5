use std::sync::Arc;

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::Event;
use serde_json::json;

use super::{Context, ReconcileError, after_failure};
use crate::controller::slim_set::SlimSet;
use crate::controller::{Config, WithoutPolicy, lead};

/// A context with these sets. The API server never responds.
fn context(sets: Store<SlimSet>) -> Arc<Context> {
    let never =
        |_: axum::http::Request<Body>| std::future::pending::<Result<axum::http::Response<Body>, kube::Error>>();
    let client = Client::new(tower::service_fn(never), "default");
    let (requeue, _) = mpsc::unbounded();
    let config = Config {
        without_policy: WithoutPolicy::RollOut,
        ..Config::default()
    };
    let watched = (sets, store().0);
    let context = lead::context(&config, &client, &Arc::default(), watched, requeue, Arc::default());
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
