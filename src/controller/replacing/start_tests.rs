use std::sync::Arc;

use futures::channel::mpsc;
use kube::Client;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Ended, LastReport, SetName, lock};
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
