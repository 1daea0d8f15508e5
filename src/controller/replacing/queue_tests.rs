use std::sync::Arc;

use kube::runtime::reflector::store;
use serde_json::{Value, json};

use super::{Due, LastReport, Replacements, Rest, State, name_of};
use crate::controller::fixtures;
use crate::controller::locking::lock;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;

fn object(resource_version: &str) -> Value {
    let annotations = json!({
        "claim-rollout.io/staged": "{}", "claim-rollout.io/phase": "Complete",
        "claim-rollout.io/replace-set": "WhenComplete",
    });
    let metadata = json!({
        "name": "web", "namespace": "default", "uid": "u", "resourceVersion": resource_version,
        "annotations": annotations,
    });
    json!({ "metadata": metadata })
}

fn set(resource_version: &str) -> SlimSet {
    serde_json::from_value(object(resource_version)).unwrap()
}

fn replacements() -> Arc<Replacements> {
    fixtures::context(&fixtures::silent(), (store().0, store().0)).replacements
}

/// A change of the set, and whether its replacement is due.
type Row = (&'static str, fn(&mut Value, &mut SetKind), Due);

#[rustfmt::skip]
const ASKED: [Row; 11] = [
    ("complete", |_, _| {}, Due::Now),
    ("not marked, resumed", |set, _| set["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("false"), Due::Now),
    ("paused", |set, _| set["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("true"), Due::No),
    ("of OpenKruise", |_, kind| *kind = SetKind::OpenKruise, Due::No),
    ("under OnClaimDelete", |set, _| set["metadata"]["annotations"]["claim-rollout.io/phase"] = json!("Staged"), Due::Now),
    ("rolled out", |set, _| set["metadata"]["annotations"]["claim-rollout.io/phase"] = json!("RollingOut"), Due::No),
    ("nothing staged", |set, _| set["metadata"]["annotations"]["claim-rollout.io/staged"] = Value::Null, Due::No),
    ("never", |set, _| set["metadata"]["annotations"]["claim-rollout.io/replace-set"] = json!("Never"), Due::No),
    ("by default", |set, _| set["metadata"]["annotations"]["claim-rollout.io/replace-set"] = Value::Null, Due::No),
    ("being deleted", |set, _| set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"), Due::No),
    ("marked, and paused", |set, _| {
        set["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("true");
        set["metadata"]["finalizers"] = json!(["claim-rollout.io/replacing"]);
    }, Due::Now),
];

#[tokio::test]
async fn replacement_is_due_iff_it_is_asked_for_or_has_begun() {
    for (what, change, expected) in ASKED {
        let mut kind = SetKind::Apps;
        let mut object = object("7");
        change(&mut object, &mut kind);
        let annotations = object["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.retain(|_, value| !value.is_null());
        let mut set: SlimSet = serde_json::from_value(object).unwrap();
        set.kind = kind;
        assert_eq!(replacements().due(&set, 1000), expected, "{what}");
    }
}

/// What is known of a set, whether it is reconciled then, and how its replacement is known after that.
type StateRow = (&'static str, Option<State>, bool, Option<Due>, Due);

#[tokio::test]
async fn set_that_waits_for_a_place_is_reconciled_as_usual() {
    let rests = || {
        State::Rests(Rest {
            resource_version: "7".to_owned(),
            attempts: 0,
            tried: 1000,
            reported: LastReport::default(),
        })
    };
    let rows: [StateRow; 6] = [
        ("nothing is known", None, false, Some(Due::Now), Due::Now),
        (
            "it waits for a place",
            Some(State::Queued),
            false,
            Some(Due::Queued),
            Due::Queued,
        ),
        ("it is being replaced", Some(State::Running), false, None, Due::Runs),
        ("it was refused", Some(rests()), false, Some(Due::In(5)), Due::In(5)),
        ("another controller began", None, true, None, Due::Runs),
        (
            "another controller began, and it was refused",
            Some(rests()),
            true,
            None,
            Due::Runs,
        ),
    ];
    for (what, state, is_marked, reconciled, after) in rows {
        let replacements = replacements();
        let mut set = set("7");
        set.is_marked = is_marked;
        lock(&replacements.states).extend(state.map(|state| (name_of(&set), state)));
        let found = replacements.reconciles(&set).map(|_| replacements.due(&set, 1000));
        assert_eq!((found, replacements.due(&set, 1000)), (reconciled, after), "{what}");
    }
}

#[tokio::test]
async fn replacement_begins_after_the_reconcile() {
    let (replacements, set) = (replacements(), set("7"));
    let name = name_of(&set);
    let reconciles = replacements.reconciles(&set);
    assert!(reconciles.is_some() && !replacements.begins(&name), "it is reconciled");
    drop(reconciles);
    assert!(replacements.begins(&name), "the reconcile has ended");
    assert!(replacements.reconciles(&set).is_none(), "nobody else writes to it");
}

#[tokio::test]
async fn refused_replacement_rests_until_a_change_or_retry() {
    let replacements = replacements();
    for (what, seen, now, retries, expected) in [
        ("refused a moment ago", "7", 1000, false, Due::In(300)),
        ("long ago", "7", 1300, false, Due::Now),
        ("the clock was set back", "7", 999, false, Due::Now),
        ("the set has changed", "8", 1000, false, Due::In(5)),
        ("a user asks for it", "7", 1000, true, Due::Now),
    ] {
        let rest = Rest {
            resource_version: "7".to_owned(),
            attempts: 9,
            tried: 1000,
            reported: LastReport::default(),
        };
        let set = set(seen);
        lock(&replacements.states).insert(name_of(&set), State::Rests(rest));
        if retries {
            replacements.retry_now(&set);
        }
        assert_eq!(replacements.due(&set, now), expected, "{what}");
    }
}
