use futures::channel::mpsc;
use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Observer, SlimSet, asks_for_volumes};
use crate::api::Settings;
use crate::controller::clock::clock;
use crate::controller::fixtures;
use crate::controller::fixtures::changed;
use crate::controller::lead::config::Config;
use crate::rollout::fixtures::rows;

fn observer(settings: &Value) -> Observer {
    let (requeue, _) = mpsc::unbounded();
    let config = Config {
        settings: Settings::read(&settings.to_string()).expect("settings"),
        ..Config::default()
    };
    let watched = (store().0, store().0);
    fixtures::context_of(&config, fixtures::caller(&fixtures::silent(), clock), watched, requeue).observer
}

/// A StatefulSet that the StatefulSet controller has seen, with this JSON at this place.
fn set(place: &str, json: &str) -> SlimSet {
    let object = json!({
        "metadata": {
            "name": "web", "namespace": "default", "uid": "u", "generation": 2,
            "annotations": {"claim-rollout.io/replace-set": "WhenComplete"},
        },
        "status": {"observedGeneration": 2},
    });
    serde_json::from_value(changed(object, place, json)).expect("a StatefulSet")
}

/// The StatefulSet, and whether its Pods are read: if the setting allows it, and if sets are also replaced by default.
const ROWS: &str = r#"
    replaced                       | /metadata/uid               | "u"                                     | true  | true
    not annotated                  | /metadata/annotations       | null                                    | false | true
    never replaced                 | /metadata/annotations       | {"claim-rollout.io/replace-set": "Never"} | false | false
    not yet seen by its controller | /metadata/generation        | 3                                       | false | false
    being deleted                  | /metadata/deletionTimestamp | "2026-01-01T00:00:00Z"                  | false | false
"#;

/// Without the setting, and of a set that is not replaced, no Pod is ever read.
#[tokio::test]
async fn pods_are_read_once_and_only_if_one_may_be_evicted() {
    let allow = json!({"templateChanges": "Allow"});
    let by_default = json!({"templateChanges": "Allow", "defaultReplaceSet": "WhenComplete"});
    for [row, place, json, allowed, replaced] in rows(ROWS) {
        for (settings, expected) in [(&json!({}), "false"), (&allow, allowed), (&by_default, replaced)] {
            let asked = asks_for_volumes(&observer(settings), &set(place, json));
            assert_eq!(asked.to_string(), expected, "{row}: {settings}");
        }
    }
    let observer = observer(&allow);
    observer.memories.note_mounted("u");
    assert!(!asks_for_volumes(&observer, &set("/metadata/uid", "\"u\"")), "again");
    let next = set("/metadata/uid", "\"the next one\"");
    assert!(asks_for_volumes(&observer, &next), "the next one");
}
