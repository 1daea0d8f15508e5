use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::Event;
use serde_json::json;

use super::{Context, ReconcileError, after_failure};
use crate::controller::admission::{Admission, WithoutPolicy};
use crate::controller::claim_events::Pace;
use crate::controller::context::Memories;
use crate::controller::known_quotas::Shared;
use crate::controller::metrics::Metrics;
use crate::controller::namespaces::Namespaces;
use crate::controller::places::Places;
use crate::controller::slim::Set;
use crate::controller::unblock::Unblock;
use crate::templates::MaxInMotion;

/// What a look has, with these sets. No request of it is ever answered.
fn context(sets: Store<Set>) -> Arc<Context> {
    let never =
        |_: axum::http::Request<Body>| std::future::pending::<Result<axum::http::Response<Body>, kube::Error>>();
    let client = Client::new(tower::service_fn(never), "default");
    let (requeue, _) = mpsc::unbounded();
    let (metrics, settings) = (Arc::<Metrics>::default(), Arc::default());
    let without = WithoutPolicy::RollOut;
    let clock = || 1000;
    Arc::new(Context {
        client: client.clone(),
        clock,
        settings: Arc::clone(&settings),
        max_in_motion: MaxInMotion::default(),
        places: Places::default(),
        admission: Admission::new(client.clone(), settings, None, without, Arc::clone(&metrics)),
        sets,
        rollouts: store().0,
        namespaces: Namespaces::new(client.clone(), requeue.clone(), clock, Arc::clone(&metrics)),
        questions: Pace::default(),
        quota_lists: Shared::default(),
        unblock: Unblock::new(client, requeue, Arc::clone(&metrics)),
        metrics,
        memories: Memories::default(),
        stopping: Arc::new(AtomicBool::new(false)),
    })
}

fn set(uid: &str) -> Set {
    serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "default", "uid": uid}})).unwrap()
}

#[tokio::test]
async fn a_set_whose_end_was_written_is_not_looked_at_as_it_was() {
    let at = |version: &str| -> Set {
        let metadata = json!({
            "name": "web", "namespace": "default", "uid": "u", "resourceVersion": version,
            "annotations": {"claim-rollout.io/staged": "{}"},
        });
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    };
    // The clock says 1000.
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
async fn a_set_that_is_deleted_during_its_look_is_forgotten() {
    for (what, there, expected) in [
        ("it is there", Some("old"), true),
        ("it is gone", None, false),
        ("another of its name came", Some("new"), false),
    ] {
        for failed in [false, true] {
            let (sets, mut writer) = store();
            if let Some(uid) = there {
                writer.apply_watcher_event(&Event::Apply(set(uid)));
            }
            let context = context(sets);
            let reconciled = Arc::new(set("old"));
            // The look remembers something after the set was forgotten.
            context.remember(&reconciled, |_| {});
            if failed {
                let error = ReconcileError::Admission("no answer".to_owned());
                after_failure(Arc::clone(&reconciled), &error, Arc::clone(&context));
            } else {
                context.leave_if_gone(&reconciled);
            }
            let remembered = context.remembered(&reconciled, |_| ()).is_some();
            assert_eq!(remembered, expected, "{what}, failed: {failed}");
        }
    }
}
