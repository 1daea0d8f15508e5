//! Budgets of storage classes: how often PVCs may be modified, and how many at a time.

use super::words::{act, common};
use super::{check_with, done};
use crate::gate::ClaimState;
use crate::json::Value;
use crate::rollout::budget::{AtOnce, Budget};
use crate::rollout::fixtures::{events, gi, rows, web, writes};
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
fn per_day(web: &mut Snapshot, most: u32, hours: &[u32]) {
    let per_day = Some(most);
    ebs(web, Budget { per_day, at_once: None });
    let times = hours.iter().map(|hours| web.now - u64::from(*hours) * HOUR).collect();
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

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("budget", [most]) => at_once(web, *most, None),
        ("budget", [most, others]) => at_once(web, *most, Some(*others)),
        ("budget of gp", []) => {
            let budget = web.budgets.classes.remove("ebs").unwrap();
            web.budgets.classes.insert("gp".to_owned(), budget);
        }
        ("late", [2]) => _ = web.budgets.late.insert("data-web-2-uid".to_owned()),
        ("staged class", []) => {
            web.set.staged.as_mut().unwrap().templates[0].volume_attributes_class_name = Some("fast".to_owned());
            web.previous.as_mut().unwrap().revision = web.target();
        }
        ("per day", [most, hours @ ..]) => per_day(web, *most, hours),
        ("modified later", []) => {
            let later = vec![web.now + HOUR];
            web.budgets.modified.insert("data-web-2-uid".to_owned(), later);
        }
        _ => common(web, word, numbers),
    }
}

const AT_ONCE: &str = "
    one place is free                          | budget 1 0                              | grow 2
    others use it                              | budget 1 1                              |
    others use more than the budget            | budget 1 9                              |
    others are not known yet                   | budget 9                                |
    the replicas share the rest, highest first | budget 3 1, at a time 3                 | grow 2, grow 1
    a PVC in motion uses a place               | budget 2 1, at a time 3, expanding 2    |
    a PVC that waits for its node uses none    | budget 1 0, at a time 3, node pending 2 | grow 1
    a PVC that waits for its node and for another attributes class uses one \
        | budget 1 0, at a time 3, node pending 2, class fast 2 |
    a PVC in motion for longer than the progress deadline uses none | budget 1 0, at a time 3, expanding 2, late 2 \
        | grow 1
    a PVC that is done uses none               | budget 1 0, done 2                      | grow 1
    an infeasible PVC uses none                | budget 1 0, Parallel, infeasible 2      | grow 1, ClaimExpansionFailed
    a label alone needs none                   | budget 1 1, request 2 2                 | grow 2
    a change of the attributes class needs one | budget 1 1, request 2 2, staged class   |
    a budget of another class                  | budget 1 1, budget of gp                | grow 2
";

#[test]
fn pvcs_in_motion_stay_within_the_budget() {
    check_with(web, AT_ONCE, word);
}

/// A change of the fixture, and which replica is written.
const PER_DAY: &str = "
    never modified                                | per day 1                 | 2
    an hour ago                                   | per day 1 1               |
    23 hours ago                                  | per day 1 23              |
    a day ago                                     | per day 1 24              | 2
    one of two                                    | per day 2 1               | 2
    two of two                                    | per day 2 23 1            |
    one of them a day ago                         | per day 2 25 1            | 2
    more than there may be                        | per day 1 23 22           |
    the clock was set back since                  | per day 1, modified later | 2
    no PVC overtakes one that waits               | per day 1 1, Parallel     |
    a PVC that may be in motion as well continues | per day 1 1, at a time 2  | 1
";

#[test]
fn modifications_in_24_hours_stay_within_the_budget() {
    for [why, change, expected] in rows(PER_DAY) {
        let mut web = web();
        act(&mut web, change, word);
        let writes = writes(&web);
        let names = writes.iter().map(|action| match action {
            Action::ApplyClaim(apply) => {
                let noted = apply.annotations.get(keys::MODIFIED).map(|times| spending::read(times));
                assert_eq!(noted.and_then(|times| times.last().copied()), Some(web.now), "{why}");
                apply.name.as_str().replace("data-web-", "")
            }
            other => panic!("{why}: {other:?}"),
        });
        assert_eq!(names.collect::<Vec<_>>().join(", "), expected, "{why}");
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
    web.set.max_in_motion = Some(MaxInMotion(2));
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
    for (why, change, expected) in [
        ("one is written", "budget 2 0", 1),
        ("none is written", "budget 2 2", 0),
        ("two are written", "budget 9 0, at a time 2", 2),
        (
            "one is in motion, below the partition",
            "budget 9 0, partition 3, expanding 0",
            1,
        ),
        (
            "the PVC is done, and its Pod is waited for",
            "budget 9 0, done 2, old 2 1 0",
            0,
        ),
    ] {
        let mut web = web();
        act(&mut web, change, word);
        let places = plan(&web).places;
        assert_eq!(
            places.moving.values().filter(|class| *class == "ebs").count(),
            expected,
            "{why}: {}",
            done(&web)
        );
    }
}
