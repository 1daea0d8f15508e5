use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::mpsc;
use kube::Client;
use kube::client::Body;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::{context, first_lists, rollout_changed};
use crate::controller::slim_set::SlimSet;
use crate::controller::{Config, fixtures};

fn set(name: &str) -> SlimSet {
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "default", "uid": name}})).unwrap()
}

#[test]
fn changed_report_requeues_its_set_and_new_list_all_sets() {
    let report = || fixtures::rollout(&json!({"name": "web", "namespace": "default"}), &Value::Null);
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

/// Without the definition of ClaimRollouts, their list fails for ever. Without StatefulSets there is nothing to do.
#[tokio::test]
async fn controller_starts_without_reports_but_not_without_sets() {
    const SHORT: Duration = Duration::from_millis(20);
    for (listed, expected) in [(true, true), (false, false)] {
        let never = |_: axum::http::Request<Body>| pending::<Result<axum::http::Response<Body>, kube::Error>>();
        let client = Client::new(tower::service_fn(never), "default");
        let (sets, mut writer) = store();
        if listed {
            [Event::Init, Event::InitApply(set("web")), Event::InitDone]
                .iter()
                .for_each(|event| writer.apply_watcher_event(event));
        }
        let (rollouts, _writer) = store();
        let (requeue, _queued) = mpsc::unbounded();
        let context = context(
            &Config::default(),
            &client,
            &Arc::default(),
            (sets, rollouts),
            requeue,
            Arc::default(),
        );
        let begun = tokio::time::timeout(SHORT * 10, first_lists(&context, SHORT)).await;
        assert_eq!(
            begun.is_ok_and(|lists| lists.is_ok()),
            expected,
            "StatefulSets are listed: {listed}"
        );
    }
}
