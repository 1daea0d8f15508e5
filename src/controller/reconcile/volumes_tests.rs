use futures::channel::mpsc;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Observer, SlimSet, asks_for_volumes};
use crate::api::Settings;
use crate::controller::clock::clock;
use crate::controller::fixtures;
use crate::controller::lead::config::Config;

fn observer(settings: &Value) -> Observer {
    let (requeue, _) = mpsc::unbounded();
    let config = Config {
        settings: Settings::read(&settings.to_string()).expect("settings"),
        ..Config::default()
    };
    let watched = (store().0, store().0);
    fixtures::context_of(&config, fixtures::caller(&fixtures::silent(), clock), watched, requeue).observer
}

/// A StatefulSet that the StatefulSet controller has seen.
fn set(change: fn(&mut Value)) -> SlimSet {
    let mut object = json!({
        "metadata": {
            "name": "web", "namespace": "default", "uid": "u", "generation": 2,
            "annotations": {"claim-rollout.io/replace-set": "WhenComplete"},
        },
        "status": {"observedGeneration": 2},
    });
    change(&mut object);
    serde_json::from_value(object).expect("a StatefulSet")
}

/// Without the setting, and of a set that is not replaced, no Pod is ever read.
#[tokio::test]
async fn pods_are_read_once_and_only_if_one_may_be_evicted() {
    let allow = json!({"templateChanges": "Allow"});
    let by_default = json!({"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete"});
    type Row = (&'static str, fn(&mut Value), [bool; 3]);
    let rows: [Row; 5] = [
        ("replaced", |_| {}, [false, true, true]),
        (
            "not annotated",
            |set| set["metadata"]["annotations"] = Value::Null,
            [false, false, true],
        ),
        (
            "never replaced",
            |set| set["metadata"]["annotations"] = json!({"claim-rollout.io/replace-set": "Never"}),
            [false, false, false],
        ),
        (
            "not yet seen by its controller",
            |set| set["metadata"]["generation"] = json!(3),
            [false, false, false],
        ),
        (
            "being deleted",
            |set| set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            [false, false, false],
        ),
    ];
    for (row, change, expected) in rows {
        let asked =
            [&json!({}), &allow, &by_default].map(|settings| asks_for_volumes(&observer(settings), &set(change)));
        assert_eq!(asked, expected, "{row}");
    }
    let observer = observer(&allow);
    observer.memories.note_mounted("u");
    assert!(!asks_for_volumes(&observer, &set(|_| {})), "again");
    let next = set(|set| set["metadata"]["uid"] = json!("the next one"));
    assert!(asks_for_volumes(&observer, &next), "the next one");
}
