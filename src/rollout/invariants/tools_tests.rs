//! What tools that wait make of the set, and what no write of ours changes (S19).

use super::Rule::{self, S19};
use super::fixtures::{History, Known, OLD_PODS, known, rules};
use super::{What, s19_borrows_nothing, s19_waits};

/// The Pods of 10 and 11 are to be replaced, and the StatefulSet controller says so.
fn waits() -> Known {
    let mut known = known();
    known.set().status.updated = 1;
    for ordinal in [10, 11] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

type Row = (&'static str, fn(&mut Known), &'static [Rule]);

const ROWS: &[Row] = &[
    ("too many count as updated", |it| it.set().status.updated = 3, &[S19]),
    (
        "but some are not Ready",
        |it| (it.set().status.updated, it.set().status.ready) = (3, 2),
        &[],
    ),
    (
        "or the status is of another spec",
        |it| (it.set().status.updated, it.set().status.observed) = (3, false),
        &[],
    ),
    ("a partition leaves one that waits", |it| it.set().partition = 1, &[]),
    (
        "which is not counted",
        |it| (it.set().partition, it.set().status.updated) = (1, 2),
        &[S19],
    ),
    ("a partition leaves none that waits", |it| it.set().partition = 2, &[]),
    (
        "one below the partition is counted instead, as the tools do",
        |it| {
            (it.set().partition, it.set().status.updated) = (1, 2);
            it.pod(10).revision = it.set().pod_revision;
        },
        &[],
    ),
    (
        "those that wait are not the set's",
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
fn s19_is_broken_by_tools_that_say_done_while_pods_wait() {
    let judged = |known: &Known| rules([s19_waits(&known.scene())]);
    assert_eq!(judged(&waits()), [], "nothing is spoilt");
    for (sentence, change, expected) in ROWS {
        let mut known = waits();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{sentence}");
    }
}

#[test]
fn s19_is_broken_by_a_write_that_changes_the_spec() {
    let rows: &[Row] = &[
        ("the partition", |it| it.set().partition = 3, &[S19]),
        ("replicas", |it| it.set().replicas = 2, &[S19]),
        ("what Pods run", |it| it.set().pod_revision = OLD_PODS, &[S19]),
        ("the strategy", |it| it.set().by_hand = true, &[S19]),
        ("a pause", |it| it.set().paused = true, &[S19]),
        ("whether Pods wait", |it| it.set().lock_step = true, &[S19]),
        ("what the controller is to say", |it| it.set().complete = true, &[]),
        (
            "the set that is there now is another",
            |it| (it.set().uid, it.set().replicas) = (2, 2),
            &[],
        ),
        ("there is none", |it| it.set = None, &[]),
    ];
    for (sentence, change, expected) in rows {
        let mut history = History::of_set(What::Ready);
        change(&mut history.after);
        let judged = s19_borrows_nothing(&history.before.scene(), &history.after.scene());
        assert_eq!(rules([judged]), *expected, "{sentence}");
    }
}
