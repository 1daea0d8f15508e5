//! S19: tools that wait for the set, and the spec that no write of ours changes.

use super::Rule::{self, S19};
use super::fixtures::{OLD_PODS, OwnedScene, Trace, known, rules};
use super::{What, s19_borrows_nothing, s19_completes, s19_reports, s19_takes_back, s19_waits};

/// The Pods of 10 and 11 are to be replaced, and the status includes that.
fn waits() -> OwnedScene {
    let mut known = known();
    known.set().status.updated = 1;
    for ordinal in [10, 11] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

type Row = (&'static str, fn(&mut OwnedScene), &'static [Rule]);

const ROWS: &[Row] = &[
    ("too many count as updated", |it| it.set().status.updated = 3, &[S19]),
    (
        "too many count as updated, and some are not Ready",
        |it| (it.set().status.updated, it.set().status.ready) = (3, 2),
        &[],
    ),
    (
        "too many count as updated, for a previous spec",
        |it| (it.set().status.updated, it.set().status.observed) = (3, false),
        &[],
    ),
    ("one Pod above the partition waits", |it| it.set().partition = 1, &[]),
    (
        "one Pod above the partition waits, and is not counted",
        |it| (it.set().partition, it.set().status.updated) = (1, 2),
        &[S19],
    ),
    ("no Pod above the partition waits", |it| it.set().partition = 2, &[]),
    (
        "a Pod below the partition is counted instead, as the tools do",
        |it| {
            (it.set().partition, it.set().status.updated) = (1, 2);
            it.pod(10).revision = it.set().pod_revision;
        },
        &[],
    ),
    (
        "the set does not control the Pods that wait",
        |it| {
            it.set().status.updated = 3;
            (it.pod(10).ours, it.pod(11).ours) = (false, false);
        },
        &[],
    ),
    (
        "Pods are replaced by hand",
        |it| (it.set().status.updated, it.set().by_hand) = (3, true),
        &[],
    ),
];

#[test]
fn tool_done_while_pods_wait_breaks_s19() {
    let judged = |known: &OwnedScene| rules([s19_waits(&known.scene())]);
    assert_eq!(judged(&waits()), [], "the start");
    for (row, change, expected) in ROWS {
        let mut known = waits();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{row}");
    }
}

#[test]
fn write_that_changes_the_spec_breaks_s19() {
    let rows: &[Row] = &[
        ("the partition", |it| it.set().partition = 3, &[S19]),
        ("replicas", |it| it.set().replicas = 2, &[S19]),
        (
            "the update revision of Pods",
            |it| it.set().pod_revision = OLD_PODS,
            &[S19],
        ),
        ("the strategy", |it| it.set().by_hand = true, &[S19]),
        ("paused", |it| it.set().paused = true, &[S19]),
        ("sync", |it| it.set().lock_step = true, &[S19]),
        (
            "the phase, which is not in the spec",
            |it| it.set().complete = true,
            &[],
        ),
        (
            "the set was created again",
            |it| (it.set().uid, it.set().replicas) = (2, 2),
            &[],
        ),
        ("the set was deleted", |it| it.set = None, &[]),
    ];
    for (row, change, expected) in rows {
        let mut trace = Trace::of_set(What::Ready);
        change(&mut trace.after);
        let judged = s19_borrows_nothing(&trace.before.scene(), &trace.after.scene());
        assert_eq!(rules([judged]), *expected, "{row}");
    }
}

/// Everything is updated and ready, and the ClaimRollout is Ready.
fn complete() -> OwnedScene {
    let mut known = known();
    [10, 11, 12].iter().for_each(|ordinal| known.done(*ordinal));
    known.set().complete = true;
    known
}

const REPORTED: &[Row] = &[
    ("complete", |_| {}, &[]),
    (
        "the staged change cannot be read",
        |it| it.set().unreadable = true,
        &[S19],
    ),
    (
        "what cannot be read is no target",
        |it| (it.set().unreadable, it.set().target) = (true, None),
        &[S19],
    ),
    ("the phase is not Complete", |it| it.set().complete = false, &[S19]),
    ("a claim is not ready", |it| it.claim(10).capacity = 19, &[S19]),
    ("a claim is missing", |it| it.without_claim(11), &[S19]),
    (
        "nothing is staged",
        |it| (it.set().target, it.set().complete, it.claim(10).capacity) = (None, false, 9),
        &[],
    ),
    ("there is no set", |it| it.set = None, &[]),
];

#[test]
fn report_ready_before_the_end_breaks_s19() {
    for (row, change, expected) in REPORTED {
        let mut known = complete();
        change(&mut known);
        assert_eq!(rules([s19_reports(&known.scene(), true)]), *expected, "{row}");
        assert_eq!(s19_reports(&known.scene(), false), Ok(()), "{row}");
    }
}

/// Replica 12 was scaled away since the target was staged.
fn away(known: &mut OwnedScene) {
    (known.set().replicas, known.set().followed) = (2, 3);
}

const COMPLETED: &[Row] = &[
    ("everything is ready", |_| {}, &[]),
    ("a claim is not ready", |it| it.claim(10).capacity = 19, &[S19]),
    (
        "a claim out of range is not ready",
        |it| (it.set().replicas, it.claim(12).capacity) = (2, 19),
        &[],
    ),
    ("one that was scaled away is ready", away, &[]),
    (
        "one that was scaled away is not ready",
        |it| {
            away(it);
            it.claim(12).capacity = 19;
        },
        &[S19],
    ),
    (
        "one that was scaled away was not written",
        |it| {
            away(it);
            it.claim(12).revision = None;
        },
        &[S19],
    ),
    (
        "one that was scaled away is being deleted",
        |it| {
            away(it);
            (it.claim(12).revision, it.claim(12).terminating) = (None, true);
        },
        &[],
    ),
    (
        "one that was scaled away has no volume",
        |it| {
            away(it);
            (it.claim(12).revision, it.claim(12).bound) = (None, false);
        },
        &[],
    ),
    (
        "one that was scaled away belongs to another owner",
        |it| {
            away(it);
            (it.claim(12).revision, it.claim(12).ours) = (None, false);
        },
        &[],
    ),
    (
        "nothing is staged",
        |it| (it.set().target, it.claim(10).capacity) = (None, 9),
        &[],
    ),
    ("there is no set", |it| it.set = None, &[]),
];

#[test]
fn phase_complete_before_the_end_breaks_s19() {
    for (row, change, expected) in COMPLETED {
        let mut known = complete();
        change(&mut known);
        assert_eq!(rules([s19_completes(&known.scene())]), *expected, "{row}");
    }
}

#[test]
fn write_while_the_phase_stays_complete_breaks_s19() {
    let rows: &[Row] = &[
        ("complete", |_| {}, &[S19]),
        ("not complete", |it| it.set().complete = false, &[]),
        ("paused: the phase stays", |it| it.set().paused = true, &[]),
        ("denied before", |it| it.claim(11).refused = true, &[]),
        (
            "another one was denied before",
            |it| it.claim(12).refused = true,
            &[S19],
        ),
        ("there is no set", |it| it.set = None, &[]),
    ];
    for (row, change, expected) in rows {
        let mut known = complete();
        change(&mut known);
        assert_eq!(rules([s19_takes_back(&known.scene(), 11, false)]), *expected, "{row}");
        assert_eq!(s19_takes_back(&known.scene(), 11, true), Ok(()), "{row}");
    }
}
