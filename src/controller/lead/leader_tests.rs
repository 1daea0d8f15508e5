use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::mpsc;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::{Forget, WatchedSets, first_lists, forget_sets, rollout_changed, set_changed};
use crate::controller::clock::clock;
use crate::controller::fixtures;
use crate::controller::lead::config::Config;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;

fn set(name: &str) -> SlimSet {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "default", "uid": name}})).unwrap()
}

#[test]
fn changed_report_requeues_its_set_and_new_list_all_sets() {
    let report = || {
        let metadata = json!({"name": "web", "namespace": "default"});
        PackedRollout::of(&fixtures::rollout(&metadata, &Value::Null))
    };
    let rows = [
        ("a list begins", Event::Init, ""),
        ("it shows one", Event::InitApply(report()), ""),
        ("it is complete: others may be deleted", Event::InitDone, "db web"),
        ("one has changed", Event::Apply(report()), "web"),
        ("one is deleted", Event::Delete(report()), "web"),
    ];
    let (sets, mut writer) = store();
    for name in ["db", "web"] {
        writer.apply_watcher_event(&Event::Apply(set(name)));
    }
    for (what, event, expected) in rows {
        let (requeue, mut queued) = mpsc::unbounded();
        rollout_changed(vec![(requeue, sets.clone())])(event);
        let mut names = Vec::new();
        while let Ok(set) = queued.try_recv() {
            names.push(set.name);
        }
        names.sort();
        assert_eq!(names.join(" "), expected, "{what}");
    }
}

/// A StatefulSet that is deleted while the watch is interrupted is in no event.
#[test]
fn set_is_forgotten_by_its_deletion_or_the_next_list() {
    for (what, event, requeued, forgotten) in [
        ("a list begins", Event::Init, None, None),
        ("it shows one", Event::InitApply(set("web")), Some("web"), None),
        ("it is complete", Event::InitDone, None, Some("all that are not listed")),
        ("one has changed", Event::Apply(set("web")), Some("web"), None),
        ("one is deleted", Event::Delete(set("web")), None, Some("web")),
    ] {
        let (requeue, mut queued) = mpsc::unbounded();
        let (forget, mut forgets) = mpsc::unbounded();
        set_changed(requeue, forget)(event);
        let found = queued.try_recv().ok().map(|set| set.name);
        assert_eq!(found.as_deref(), requeued, "{what}");
        let found = forgets.try_recv().ok().map(|forget| match forget {
            Forget::Set(set) => set.name_any(),
            Forget::Unlisted => "all that are not listed".to_owned(),
        });
        assert_eq!(found.as_deref(), forgotten, "{what}");
    }
}

/// Its uid never comes back, so nothing else would ever remove what is known about it.
#[tokio::test]
async fn deleted_set_is_forgotten_whole() {
    let context = Arc::new(fixtures::context(&fixtures::silent(), (store().0, store().0)));
    for name in ["db", "web"] {
        context.observer.memories.note_mounted(name);
        context.observer.memories.remember(&set(name), |_| {});
    }
    let (forget, forgotten) = mpsc::unbounded();
    forget.unbounded_send(Forget::Set(Box::new(set("db")))).unwrap();
    drop(forget);
    forget_sets(Arc::clone(&context), forgotten).await;
    let mounted = ["db", "web"].map(|name| context.observer.memories.is_mounted(&set(name)));
    assert_eq!(mounted, [false, true]);
    let remembered = ["db", "web"].map(|name| context.observer.memories.remembered(&set(name), |_| ()).is_some());
    assert_eq!(remembered, [false, true]);
}

/// A list with a StatefulSet that cannot be read, beside another one.
fn partly_readable(events: mpsc::UnboundedSender<Value>) -> Client {
    let set = |name: &str, replicas: Value| {
        let annotations = json!({"claim-rollout.io/staged": "{}"});
        let metadata = json!({"name": name, "namespace": "shop", "uid": name, "annotations": annotations});
        json!({"metadata": metadata, "spec": {"replicas": replicas}})
    };
    let items = [set("bad", json!("many")), set("good", json!(1))];
    let list = json!({"metadata": {"resourceVersion": "1"}, "items": items});
    fixtures::serving(move |request| {
        if request.path == "/api/v1/namespaces/shop/events" {
            drop(events.unbounded_send(request.body.clone()));
            return Some((200, request.body.clone()));
        }
        (!request.is_watch()).then(|| (200, list.clone()))
    })
}

#[tokio::test]
async fn set_that_cannot_be_read_gets_an_event() {
    for (kind, api_version) in [
        (SetKind::Apps, "apps/v1"),
        (SetKind::OpenKruise, "apps.kruise.io/v1beta1"),
    ] {
        let (events, mut emitted) = mpsc::unbounded();
        let client = partly_readable(events);
        let watched = WatchedSets::of(kind, &Config::default(), &fixtures::caller(&client, clock));
        let event = tokio::time::timeout(Duration::from_secs(60), emitted.next()).await;
        let event = event.unwrap().unwrap();
        let on = &event["involvedObject"];
        assert_eq!(
            [&on["apiVersion"], &on["kind"], &on["name"], &on["uid"]],
            [api_version, "StatefulSet", "bad", "bad"]
        );
        assert_eq!(event["reason"], "ClaimRolloutStalled");
        watched.sets.wait_until_ready().await.unwrap();
        let names: Vec<_> = watched
            .sets
            .state()
            .iter()
            .map(|set| set.metadata.name.clone())
            .collect();
        assert_eq!(names, [Some("good".to_owned())], "{api_version}");
        assert!(emitted.try_recv().is_err(), "one Event of {api_version}");
    }
}

/// Without the definition of ClaimRollouts, their list fails for ever. Without StatefulSets there is nothing to do.
#[tokio::test]
async fn controller_starts_without_reports_but_not_without_sets() {
    const SHORT: Duration = Duration::from_millis(20);
    for (listed, expected) in [(true, true), (false, false)] {
        let (sets, mut writer) = store();
        if listed {
            [Event::Init, Event::InitApply(set("web")), Event::InitDone]
                .iter()
                .for_each(|event| writer.apply_watcher_event(event));
        }
        let (rollouts, _writer) = store();
        let cache = fixtures::context(&fixtures::silent(), (sets, rollouts)).observer.cache;
        let begun = tokio::time::timeout(SHORT * 10, first_lists(&cache, SHORT)).await;
        assert_eq!(
            begun.is_ok_and(|lists| lists.is_ok()),
            expected,
            "StatefulSets are listed: {listed}"
        );
    }
}
