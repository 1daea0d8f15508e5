use serde_json::json;

use super::super::{FINALIZER, Journal, LiveSet};
use super::SetObjects;
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

/// The uid in the staged change.
const OLD: &str = "set-uid";

fn set(uid: &str, is_marked: bool, replicas: u32) -> LiveSet {
    let staged = staged_change(vec![template("data", "2Gi")]).write().expect("JSON");
    let finalizers = if is_marked { json!([FINALIZER]) } else { json!([]) };
    LiveSet::new(json!({
        "metadata": {
            "namespace": "shop", "name": "web", "uid": uid, "finalizers": finalizers,
            "annotations": {(keys::STAGED): staged},
        },
        "spec": {"replicas": replicas},
    }))
}

#[test]
fn old_replicas_are_those_of_the_old_set() {
    let prepared = Journal::prepare(&set(OLD, false, 3), None, 0).expect("a staged change");
    let released = prepared.release(&set(OLD, true, 4), Vec::new(), "ns-1", "secret-uid");
    let unmarked = || Some(set(OLD, false, 3));
    let marked = |replicas| Some(set(OLD, true, replicas));
    let new = || Some(set("new", true, 1));
    for (what, set, journal, marks, expected) in [
        ("nothing has begun", unmarked(), None, false, None),
        ("the journal is written", unmarked(), Some(&prepared), false, None),
        ("it is marked now", unmarked(), Some(&prepared), true, Some(3)),
        ("it is marked", marked(3), Some(&prepared), false, Some(3)),
        ("somebody scales it", marked(5), Some(&prepared), false, Some(5)),
        (
            "and again, before it is let go",
            marked(6),
            Some(&released),
            false,
            Some(6),
        ),
        ("it is absent", None, Some(&released), false, Some(4)),
        ("somebody else deleted it", None, Some(&prepared), false, None),
        ("the new one exists", new(), Some(&released), false, Some(4)),
        ("the journal is deleted", new(), None, false, None),
    ] {
        let objects = SetObjects {
            set,
            journal: journal.cloned(),
            ..SetObjects::default()
        };
        assert_eq!(objects.old_replicas(marks), expected, "{what}");
    }
}
