use std::sync::Arc;

use futures::channel::mpsc;

use super::{ClassLimits, ClassPlaces};
use crate::gate::Idle;
use crate::json::Value;
use crate::rollout::fixtures::{owner, web};
use crate::rollout::{Action, Plan, Snapshot};

/// The set of this uid, with its PVCs in the class `ebs`. Its namespace is the part of the uid before a dash.
fn set(uid: &str) -> Snapshot {
    let mut set = web();
    set.set.uid = uid.to_owned();
    set.set.namespace = uid.split('-').next().unwrap().to_owned();
    for pod in set.pods.values_mut() {
        pod.controller = Some(owner("StatefulSet", "web", uid));
    }
    let class = |spec: &mut crate::json::Map<Value>| {
        spec.insert("storageClassName".to_owned(), Value::String("ebs".to_owned()));
    };
    for claim in set.claims.values_mut() {
        class(Arc::make_mut(&mut claim.spec));
        claim.uid = format!("{uid}/{}", claim.name);
    }
    let staged = set.set.staged.as_mut().unwrap();
    class(&mut staged.templates[0].spec);
    uid.clone_into(&mut staged.uid);
    set.set.live[0].spec = staged.templates[0].spec.clone();
    set
}

pub(crate) fn at_once(most: u32) -> ClassPlaces {
    let limits = ClassLimits {
        per_day: None,
        at_once: Some(most),
    };
    ClassPlaces::new([("ebs".to_owned(), limits)].into())
}

/// The plan of the set at this time while these sets roll out. Its highest PVC is in motion if it was written before.
fn plan_at(places: &ClassPlaces, (uid, now): (&str, u64), is_written: bool, rolling: &[&str]) -> Plan {
    let mut set = set(uid);
    set.now = now;
    if is_written {
        set.applied("data-web-2").resizing = true;
    }
    places.plan(&mut set, || rolling.iter().map(|uid| (*uid).to_owned()).collect())
}

/// The number of PVCs that the set writes while these sets roll out.
pub(crate) fn writes(places: &ClassPlaces, uid: &str, rolling: &[&str]) -> usize {
    writes_at(places, uid, 1000, rolling)
}

fn writes_at(places: &ClassPlaces, uid: &str, now: u64, rolling: &[&str]) -> usize {
    let planned = plan_at(places, (uid, now), false, rolling);
    let is_apply = |action: &&Action| matches!(action, Action::ApplyClaim(_));
    planned.actions.iter().filter(is_apply).count()
}

#[test]
fn third_set_waits_until_a_place_is_free() {
    let places = at_once(2);
    assert_eq!(writes(&places, "a", &["a"]), 1);
    assert_eq!(writes(&places, "b", &[]), 1);
    assert_eq!(writes(&places, "c", &[]), 0);
    assert_eq!(writes(&places, "a", &[]), 1, "its own place stays");
    assert_eq!(writes(&places, "c", &[]), 0);
    places.give_back("a", 1000);
    assert_eq!(writes(&places, "c", &[]), 1);
    assert_eq!(writes(&places, "a", &[]), 0);
    places.retain(|uid| uid != "b", 1000);
    assert_eq!(writes(&places, "a", &[]), 1);
}

/// The policy is not registered for a while: the PVCs are not part of the decision, but the storage works on them.
#[test]
fn place_stays_while_the_claims_are_not_known() {
    let places = at_once(1);
    assert_eq!(writes(&places, "a", &["a"]), 1);
    plan_at(&places, ("a", 1000), true, &[]);
    let mut halted = set("a");
    halted.now = 1010;
    halted.claims.clear();
    halted.halted = Some(Idle::PolicyMissing { unread: None });
    places.plan(&mut halted, Vec::new);
    assert_eq!(writes_at(&places, "b", 1020, &[]), 0);
    // Not for ever.
    assert_eq!(writes_at(&places, "b", 1600, &[]), 1);
}

#[test]
fn first_write_waits_until_all_were_reconciled() {
    let places = at_once(2);
    let rolling = ["a", "b", "c", "d"];
    places.note("d", 1000);
    assert_eq!(writes(&places, "a", &rolling), 0);
    assert_eq!(writes(&places, "b", &rolling), 0);
    assert_eq!(writes(&places, "a", &rolling), 0);
    places.skip("c", 1000);
    assert_eq!(writes(&places, "a", &rolling), 1);
    // A rollout that starts later is reconciled before its first write.
    assert_eq!(writes(&places, "b", &["a", "b", "c", "d", "e"]), 1);
}

/// Each way out of a reconcile, and a set that has none.
#[test]
fn first_write_waits_a_minute_for_a_set_never_read() {
    type Step = fn(&ClassPlaces);
    let rows: [(&str, Step, u64, usize); 8] = [
        ("nothing", |_| {}, 1059, 0),
        ("a minute", |_| {}, 1060, 1),
        ("its reconcile ended", |places| places.note("b", 1000), 1001, 1),
        ("it failed", |places| places.skip("b", 1000), 1001, 1),
        ("it is being replaced", |places| places.give_back("b", 1000), 1001, 1),
        (
            "it was deleted",
            |places| places.retain(|uid| uid == "a", 1000),
            1001,
            1,
        ),
        ("another one was read since", |places| places.note("c", 1040), 1099, 0),
        ("and no other for a minute", |places| places.note("c", 1040), 1100, 1),
    ];
    for (what, step, now, expected) in rows {
        let places = at_once(2);
        let rolling = if what.contains("other") {
            &["a", "b", "c"][..]
        } else {
            &["a", "b"]
        };
        assert_eq!(writes(&places, "a", rolling), 0, "{what}");
        step(&places);
        assert_eq!(writes_at(&places, "a", now, &["a", "b", "new"]), expected, "{what}");
    }
}

#[test]
fn places_without_limits_are_not_counted() {
    let places = ClassPlaces::default();
    assert_eq!(writes(&places, "a", &["b"]), 1);
    assert_eq!(
        format!("{:?}", places.known),
        format!("{:?}", ClassPlaces::default().known)
    );
}

/// A PVC of `a` is in motion since 1000, and `b` asks at another time.
#[test]
fn no_place_is_held_for_ever() {
    type Row = (&'static str, u32, u64, u64, usize);
    // The progress deadline of `a`, when it was planned last, when `b` asks, and what it writes.
    let rows: [Row; 6] = [
        ("in motion", 600, 1300, 1500, 0),
        ("longer than its progress deadline", 600, 1600, 1601, 1),
        ("a longer progress deadline", 1800, 1700, 1701, 0),
        ("an hour is the longest", 1_000_000, 4500, 4600, 1),
        ("it is not reconciled any more", 1800, 1100, 1699, 0),
        ("for ten minutes", 1800, 1100, 1700, 1),
    ];
    for (what, deadline, planned, now, expected) in rows {
        let places = at_once(1);
        for (at, is_written) in [(1000, false), (planned, true)] {
            let mut a = set("a");
            a.now = at;
            a.set.progress_deadline.0 = deadline;
            if is_written {
                a.applied("data-web-2").resizing = true;
            }
            places.plan(&mut a, Vec::new);
        }
        assert_eq!(writes_at(&places, "b", now, &[]), expected, "{what}");
    }
}

/// A StatefulSet whose reconciles fail is not planned again.
#[test]
fn place_ends_also_after_the_clock_was_set_back() {
    let places = at_once(1);
    let mut a = set("a");
    a.now = 100_000;
    a.set.progress_deadline.0 = 1800;
    places.plan(&mut a, Vec::new);
    for (now, expected) in [(1000, 0), (1599, 0), (1600, 1)] {
        assert_eq!(writes_at(&places, "b", now, &[]), expected, "{now}");
    }
}

#[test]
fn waiting_set_names_who_has_the_place_for_longest() {
    let places = at_once(2);
    let message = |uid: &str, now| {
        let planned = plan_at(&places, (uid, now), false, &[]);
        let message = planned.progress.ready.message;
        message
            .split_once("at a time")
            .map_or(message.clone(), |(_, holder)| holder.to_owned())
    };
    plan_at(&places, ("x-1", 1000), false, &[]);
    plan_at(&places, ("y-1", 1010), false, &[]);
    assert_eq!(message("z-1", 1029), "", "most are done by then");
    assert_eq!(message("z-1", 1045), "; StatefulSet x/web has a place");
    places.give_back("x-1", 1050);
    plan_at(&places, ("w-1", 1050), false, &[]);
    assert_eq!(
        writes_at(&places, "z-1", 1050, &[]),
        1,
        "the place is for the one that waited"
    );
    plan_at(&places, ("z-1", 1050), true, &[]);
    assert_eq!(message("w-1", 1055), "; StatefulSet y/web has a place");
    // The one that was named stays, though another one has a place for longer.
    plan_at(&places, ("y-1", 1060), true, &[]);
    assert_eq!(message("w-1", 1100), "; StatefulSet y/web has a place");
}

/// A namespace with many StatefulSets that wait, and one that begins much later.
#[test]
fn set_beside_thousand_waiting_gets_the_next_place() {
    let places = at_once(2);
    let (queue, mut requeued) = mpsc::unbounded();
    places.requeue_in(queue);
    for number in 0..1000 {
        let uid = format!("a-{number:03}");
        assert_eq!(writes(&places, &uid, &[]), usize::from(number < 2), "{uid}");
    }
    assert_eq!(writes_at(&places, "b-1", 1500, &[]), 0);
    while requeued.try_recv().is_ok() {}
    // One of the two is done.
    places.give_back("a-000", 1501);
    let mut namespaces = Vec::new();
    while let Ok(set) = requeued.try_recv() {
        namespaces.extend(set.namespace);
    }
    assert_eq!(namespaces, ["b"], "the one whose turn it is, and no other");
    assert_eq!(writes_at(&places, "a-007", 1502, &[]), 0);
    assert_eq!(writes_at(&places, "b-1", 1502, &[]), 1);
    // The next place is that of the StatefulSet that has waited for longest.
    places.give_back("a-001", 1503);
    let written = |uid: &str| writes_at(&places, uid, 1504, &[]);
    assert_eq!([written("a-998"), written("a-002"), written("a-003")], [0, 1, 0]);
}

#[test]
fn set_that_waits_is_requeued_when_another_is_done() {
    let places = at_once(1);
    let (queue, mut requeued) = mpsc::unbounded();
    places.requeue_in(queue);
    assert_eq!([writes(&places, "a", &[]), writes(&places, "b", &[])], [1, 0]);
    while requeued.try_recv().is_ok() {}
    let mut a = set("a");
    for name in ["data-web-0", "data-web-1", "data-web-2"] {
        a.done(name);
    }
    places.plan(&mut a, Vec::new);
    let next = requeued.try_recv().ok().and_then(|set| set.namespace);
    assert_eq!(next.as_deref(), Some("b"));
}
