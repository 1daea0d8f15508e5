use futures::channel::mpsc;
use kube::runtime::reflector::store;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::rollout_changed;
use crate::controller::fixtures;
use crate::controller::slim_set::SlimSet;

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
        rollout_changed(requeue, sets.clone())(event);
        let mut names = Vec::new();
        while let Ok(set) = queued.try_recv() {
            names.push(set.name);
        }
        names.sort();
        assert_eq!(names.join(" "), expected, "{what}");
    }
}
