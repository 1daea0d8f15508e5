use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::mpsc;
use kube::Client;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Ended, LastReport, RIGHTS_RECHECK, SetName, lock};
use crate::api::ReplacementReason;
use crate::controller::clock::clock;
use crate::controller::fixtures;
use crate::controller::lead::config::Config;
use crate::replace::{Fault, Journal, LiveSet};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// The Secret with the journal of the set `web` in this namespace.
fn journal(namespace: &str) -> Value {
    let staged = staged_change(vec![template("data", "2Gi")]).write().unwrap();
    let set = json!({
        "metadata": {"namespace": namespace, "name": "web", "uid": "set-uid", "annotations": {(keys::STAGED): staged}},
        "spec": {"replicas": 1},
    });
    let text = Journal::prepare(&LiveSet::new(set), None, 0).unwrap().write().unwrap();
    let data = json!({"journal": k8s_openapi::ByteString(text.into_bytes())});
    json!({"metadata": {"name": format!("journal-{namespace}"), "uid": "secret-uid"}, "data": data})
}

/// An API server with journals of two namespaces, which answers nothing else.
fn with_journals() -> Client {
    fixtures::serving(|request| match request.path.rsplit('/').next() {
        Some("selfsubjectaccessreviews") => Some((200, json!({"spec": {}, "status": {"allowed": true}}))),
        Some("secrets") => Some((200, json!({"metadata": {}, "items": (["shop", "test"].map(journal))}))),
        _ => None,
    })
}

/// Those of other namespaces belong to another controller.
#[tokio::test]
async fn replacements_are_resumed_in_the_managed_namespace() {
    for (managed, expected) in [(None, "shop test"), (Some("shop"), "shop"), (Some("other"), "")] {
        let replacements = fixtures::context(&with_journals(), (store().0, store().0)).replacements;
        let resumed = Arc::clone(&replacements).resume(managed.map(str::to_owned));
        resumed.await;
        let states = lock(&replacements.states);
        let mut namespaces: Vec<&str> = states.keys().map(|set| &*set.namespace).collect();
        namespaces.sort_unstable();
        assert_eq!(namespaces.join(" "), expected, "{managed:?}");
    }
}

/// The rights may come later than the controller, and no reconcile sees a set that is absent.
#[tokio::test]
async fn replacements_are_resumed_when_the_rights_are_there() {
    let (is_allowed, is_bound) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (allowed, bound) = (Arc::clone(&is_allowed), Arc::clone(&is_bound));
    let client = fixtures::serving(move |request| match request.path.rsplit('/').next() {
        Some("selfsubjectaccessreviews") => {
            let allowed = allowed.load(Ordering::Acquire);
            Some((200, json!({"spec": {}, "status": {"allowed": allowed}})))
        }
        Some("secrets") if bound.load(Ordering::Acquire) => {
            Some((200, json!({"metadata": {}, "items": [journal("shop")]})))
        }
        Some("secrets") => Some((
            403,
            json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}),
        )),
        _ => None,
    });
    let replacements = fixtures::context(&client, (store().0, store().0)).replacements;
    for (what, changes, again, expected) in [
        ("the review denies it", None, Some(RIGHTS_RECHECK), 0),
        ("the list is denied", Some(&is_allowed), Some(RIGHTS_RECHECK), 0),
        ("the rights are there", Some(&is_bound), None, 1),
    ] {
        _ = changes.map(|changes| changes.store(true, Ordering::Release));
        assert_eq!(replacements.resume_once(None).await, again, "{what}");
        assert_eq!(lock(&replacements.states).len(), expected, "{what}");
    }
}

/// Its reconciles waited for that.
#[tokio::test]
async fn set_is_reconciled_when_its_replacement_has_ended() {
    let fault = || Fault {
        reason: ReplacementReason::SetAbsent,
        message: String::new(),
    };
    for ended in [
        Ended::Replaced,
        Ended::Nothing,
        Ended::Stopped,
        Ended::Refused(fault()),
        Ended::Foreign(fault()),
        Ended::Absent(fault()),
    ] {
        let (requeue, mut queued) = mpsc::unbounded();
        let caller = fixtures::caller(&with_journals(), clock);
        let context = fixtures::context_of(&Config::default(), caller, (store().0, store().0), requeue);
        context
            .replacements
            .rest(&SetName::new("shop", "web"), 0, LastReport::default(), &ended);
        let found = queued.try_recv().ok().map(|set| (set.namespace, set.name));
        assert_eq!(found, Some((Some("shop".to_owned()), "web".to_owned())), "{ended:?}");
        assert!(queued.try_recv().is_err(), "{ended:?}");
    }
}
