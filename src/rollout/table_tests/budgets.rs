//! Budgets of storage classes: how often PVCs may be modified, and how many at a time.

use super::{Row, check, done, middle, middle_of_pods, old_pods};
use crate::claims::progress::Resize;
use crate::gate::{ClaimState, PodManagement};
use crate::json::Value;
use crate::rollout::budget::{AtOnce, Budget};
use crate::rollout::fixtures::{events, gi, web, writes};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, plan, spending};
use crate::templates::{MaxInMotion, keys};
use std::sync::Arc;

const HOUR: u64 = 3600;

/// All PVCs have the class `ebs` with this budget; it is noon.
fn ebs(web: &mut Snapshot, budget: Budget) {
    for claim in web.claims.values_mut() {
        let mut spec = (*claim.spec).clone();
        spec.insert("storageClassName".to_owned(), Value::String("ebs".to_owned()));
        claim.spec = Arc::new(spec);
    }
    let staged = web.set.staged.as_mut().unwrap();
    staged.templates[0]
        .spec
        .insert("storageClassName".to_owned(), Value::String("ebs".to_owned()));
    web.set.live[0].spec = staged.templates[0].spec.clone();
    web.previous.as_mut().unwrap().revision = web.target();
    web.now = 1_795_435_200;
    web.previous.as_mut().unwrap().moved = Some(web.now);
    web.budgets.classes.insert("ebs".to_owned(), budget);
}

/// A budget for 24 hours; `data-web-2` was modified this number of hours ago.
fn per_day(web: &mut Snapshot, most: u32, hours: &[u64]) {
    let per_day = Some(most);
    ebs(web, Budget { per_day, at_once: None });
    let times = hours.iter().map(|hours| web.now - hours * HOUR).collect();
    web.budgets.modified.insert("data-web-2-uid".to_owned(), times);
}

/// A budget of PVCs at a time, and how many of them other sets use.
pub(super) fn at_once(web: &mut Snapshot, most: u32, others: Option<u32>) {
    let at_once = Some(AtOnce {
        most,
        others,
        holder: None,
    });
    ebs(web, Budget { per_day: None, at_once });
}

fn in_motion(web: &mut Snapshot, number: u32) {
    web.set.max_in_motion = Some(MaxInMotion(number));
}

const AT_ONCE: &[Row] = &[
    ("one place is free", |web| at_once(web, 1, Some(0)), "grow 2"),
    ("others use it", |web| at_once(web, 1, Some(1)), ""),
    ("others use more than the budget", |web| at_once(web, 1, Some(9)), ""),
    ("others are not known yet", |web| at_once(web, 9, None), ""),
    (
        "the replicas share the rest, highest first",
        |web| {
            at_once(web, 3, Some(1));
            in_motion(web, 3);
        },
        "grow 2, grow 1",
    ),
    (
        "a PVC in motion uses a place",
        |web| {
            at_once(web, 2, Some(1));
            in_motion(web, 3);
            web.applied("data-web-2").resizing = true;
        },
        "",
    ),
    (
        "a PVC that waits for its node uses none",
        |web| {
            at_once(web, 1, Some(0));
            in_motion(web, 3);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 1",
    ),
    (
        "a PVC that waits for its node and for another attributes class uses one",
        |web| {
            at_once(web, 1, Some(0));
            in_motion(web, 3);
            let claim = web.applied("data-web-2");
            claim.resize = Some(Resize::NodePending);
            claim.class = Some("fast".to_owned());
        },
        "",
    ),
    (
        "a PVC in motion for longer than the progress deadline uses none",
        |web| {
            at_once(web, 1, Some(0));
            in_motion(web, 3);
            web.applied("data-web-2").resizing = true;
            web.budgets.late.insert("data-web-2-uid".to_owned());
        },
        "grow 1",
    ),
    (
        "a PVC that is done uses none",
        |web| {
            at_once(web, 1, Some(0));
            middle(web);
        },
        "grow 1",
    ),
    (
        "an infeasible PVC uses none",
        |web| {
            at_once(web, 1, Some(0));
            web.set.pod_management = PodManagement::Parallel;
            web.applied("data-web-2").resize = Some(Resize::ControllerInfeasible);
        },
        "grow 1, ClaimExpansionFailed",
    ),
    (
        "a label alone needs none",
        |web| {
            at_once(web, 1, Some(1));
            web.claim("data-web-2").request = gi(2);
        },
        "grow 2",
    ),
    (
        "a change of the attributes class needs one",
        |web| {
            at_once(web, 1, Some(1));
            web.claim("data-web-2").request = gi(2);
            web.set.staged.as_mut().unwrap().templates[0].volume_attributes_class_name = Some("fast".to_owned());
            web.previous.as_mut().unwrap().revision = web.target();
        },
        "",
    ),
    (
        "a budget of another class",
        |web| {
            at_once(web, 1, Some(1));
            let budget = web.budgets.classes.remove("ebs").unwrap();
            web.budgets.classes.insert("gp3".to_owned(), budget);
        },
        "grow 2",
    ),
];

#[test]
fn pvcs_in_motion_stay_within_the_budget() {
    check(AT_ONCE);
}

/// A change of the fixture, and which replicas are written.
type WrittenRow = (&'static str, fn(&mut Snapshot), &'static [u32]);

const PER_DAY: &[WrittenRow] = &[
    ("never modified", |web| per_day(web, 1, &[]), &[2]),
    ("an hour ago", |web| per_day(web, 1, &[1]), &[]),
    ("23 hours ago", |web| per_day(web, 1, &[23]), &[]),
    ("a day ago", |web| per_day(web, 1, &[24]), &[2]),
    ("one of two", |web| per_day(web, 2, &[1]), &[2]),
    ("two of two", |web| per_day(web, 2, &[23, 1]), &[]),
    ("one of them a day ago", |web| per_day(web, 2, &[25, 1]), &[2]),
    ("more than there may be", |web| per_day(web, 1, &[23, 22]), &[]),
    (
        "the clock was set back since",
        |web| {
            per_day(web, 1, &[]);
            let later = vec![web.now + HOUR];
            web.budgets.modified.insert("data-web-2-uid".to_owned(), later);
        },
        &[2],
    ),
    (
        "no PVC overtakes one that waits",
        |web| {
            per_day(web, 1, &[1]);
            web.set.pod_management = PodManagement::Parallel;
        },
        &[],
    ),
    (
        "a PVC that may be in motion as well continues",
        |web| {
            per_day(web, 1, &[1]);
            in_motion(web, 2);
        },
        &[1],
    ),
];

#[test]
fn modifications_in_24_hours_stay_within_the_budget() {
    for (why, change, expected) in PER_DAY {
        let mut web = web();
        change(&mut web);
        let writes = writes(&web);
        let names = writes.iter().map(|action| match action {
            Action::ApplyClaim(apply) => {
                let noted = apply.annotations.get(keys::MODIFIED).map(|times| spending::read(times));
                assert_eq!(noted.and_then(|times| times.last().copied()), Some(web.now), "{why}");
                apply.name.to_string()
            }
            other => panic!("{why}: {other:?}"),
        });
        let expected: Vec<String> = expected.iter().map(|ordinal| format!("data-web-{ordinal}")).collect();
        assert_eq!(names.collect::<Vec<_>>(), expected, "{why}");
    }
}

#[test]
fn annotation_keeps_the_modifications_of_the_last_day() {
    let mut web = web();
    per_day(&mut web, 3, &[30, 24, 23, 1]);
    let noted = |web: &Snapshot| match &writes(web)[..] {
        [Action::ApplyClaim(apply)] => apply.annotations.get(keys::MODIFIED).cloned(),
        other => panic!("{other:?}"),
    };
    let times = "2026-11-22T13:00:00Z,2026-11-23T11:00:00Z,2026-11-23T12:00:00Z";
    assert_eq!(noted(&web).as_deref(), Some(times));
    assert_eq!(spending::read(times).len(), 3);
    assert_eq!(spending::read("never, 2026-11-23T11:00:00Z"), [web.now - HOUR]);
    // A new label is no modification, and keeps the others.
    web.claim("data-web-2").request = gi(2);
    assert_eq!(
        noted(&web).as_deref(),
        Some("2026-11-22T13:00:00Z,2026-11-23T11:00:00Z")
    );
    // A repeated apply, because others dropped the first, was counted; the guard permits no change of the annotation
    // alone.
    web.applied("data-web-2").request = gi(1);
    web.claim("data-web-2").size_is_ours = true;
    let times = "2026-11-22T06:00:00Z,2026-11-22T12:00:00Z,2026-11-22T13:00:00Z,2026-11-23T11:00:00Z";
    assert_eq!(noted(&web).as_deref(), Some(times));
    // Without a budget there is no annotation.
    web.budgets.classes.get_mut("ebs").unwrap().per_day = None;
    assert_eq!(noted(&web), None);
}

#[test]
fn pvc_waiting_for_its_budget_reports_until_when() {
    let mut web = web();
    per_day(&mut web, 2, &[22, 1]);
    // No progress for a day is not reported here.
    web.previous.as_mut().unwrap().moved = Some(web.now - 30 * HOUR);
    let planned = plan(&web);
    let why = "has been modified 2 times in 24 h, the limit of storage class ebs; continues at \
               2026-11-23T14:00:00Z";
    let [ready, reconciling, stalled] = [
        &planned.progress.ready,
        &planned.progress.reconciling,
        &planned.progress.stalled,
    ];
    assert_eq!(
        (ready.reason, stalled.holds, reconciling.holds),
        ("WaitsForBudget", false, true)
    );
    assert_eq!(ready.message, format!("0 of 3 replicas are ready; data-web-2 {why}"));
    let first = &planned.progress.claims[0];
    assert_eq!(
        (first.state, &*first.reason, &*first.message),
        (ClaimState::Pending, "WaitsForBudget", why)
    );
    assert_eq!(planned.progress.claims[1].reason, "Waiting");
    assert_eq!(events(&web), []);
    assert!(
        planned.requeue_after.is_some_and(|requeue| requeue <= 2 * HOUR),
        "{:?}",
        planned.requeue_after
    );
    // Three minutes before the time, the requeue is in three minutes.
    web.now += 2 * HOUR - 180;
    assert_eq!(plan(&web).requeue_after, Some(180));
    web.now += 180;
    web.previous.as_mut().unwrap().ready = "WaitsForBudget".to_owned();
    let planned = plan(&web);
    assert_eq!((planned.progress.ready.reason, writes(&web).len()), ("RollingOut", 1));
}

#[test]
fn pvc_waiting_for_a_place_reports_the_numbers() {
    let mut web = web();
    at_once(&mut web, 2, Some(2));
    let planned = plan(&web);
    let why = "data-web-2 waits: at most 2 PVCs of storage class ebs may be in motion at a time";
    assert_eq!(
        planned.progress.ready.message,
        format!("0 of 3 replicas are ready; {why}")
    );
    assert_eq!(
        (planned.progress.ready.reason, planned.requeue_after),
        ("WaitsForBudget", Some(spending::RECHECK))
    );
    // The rollout waits for the PVC in motion.
    in_motion(&mut web, 2);
    web.applied("data-web-2").resizing = true;
    assert_eq!(plan(&web).progress.ready.reason, "RollingOut");
    let places = plan(&web).places;
    let ebs = || "ebs".to_owned();
    assert_eq!(places.moving, [("data-web-2-uid".to_owned(), ebs())].into());
    assert_eq!(places.waiting, [(ebs(), 1)].into());
    // One that has a place for a while is named.
    let budget = web.budgets.classes.get_mut("ebs").unwrap();
    budget.at_once.as_mut().unwrap().holder = Some("tenant/db".to_owned());
    let waiting = plan(&web).progress.claims[1].message.clone();
    assert!(
        waiting.ends_with("at a time; StatefulSet tenant/db has a place"),
        "{waiting}"
    );
}

#[test]
fn places_count_pvcs_in_motion_and_written_now() {
    type PlacesRow = (&'static str, fn(&mut Snapshot), usize);
    let rows: [PlacesRow; 5] = [
        ("one is written", |web| at_once(web, 2, Some(0)), 1),
        ("none is written", |web| at_once(web, 2, Some(2)), 0),
        (
            "two are written",
            |web| {
                at_once(web, 9, Some(0));
                in_motion(web, 2);
            },
            2,
        ),
        (
            "one is in motion, below the partition",
            |web| {
                at_once(web, 9, Some(0));
                web.set.partition = 3;
                web.applied("data-web-0").resizing = true;
            },
            1,
        ),
        (
            "the PVC is done, and its Pod is waited for",
            |web| {
                at_once(web, 9, Some(0));
                middle_of_pods(web);
                old_pods(web, &[2]);
            },
            0,
        ),
    ];
    for (why, change, expected) in rows {
        let mut web = web();
        change(&mut web);
        let places = plan(&web).places;
        assert_eq!(
            places.moving.values().filter(|class| *class == "ebs").count(),
            expected,
            "{why}: {}",
            done(&web)
        );
    }
}
