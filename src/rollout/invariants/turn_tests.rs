//! Whose turn it is, in the eyes of whoever decides (S6).

use super::Rule::{self, S6};
use super::fixtures::{Known, OLD_PODS, known, rules};
use super::s6_in_turn;

/// Replica 12 is done, and 11 is next.
fn next_is_11() -> Known {
    let mut known = known();
    known.done(12);
    known
}

/// Pods are to be replaced as well; that of 12 was.
fn with_pods() -> Known {
    let mut known = next_is_11();
    known.set().lock_step = true;
    for ordinal in [10, 11] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

type Row = (&'static str, fn(&mut Known), &'static [Rule]);

fn check(start: fn() -> Known, rows: &[Row]) {
    let judged = |known: &Known| rules([s6_in_turn(&known.scene(), 11)]);
    assert_eq!(judged(&start()), [], "nothing is spoilt");
    for (sentence, change, expected) in rows {
        let mut known = start();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{sentence}");
    }
}

fn behind(known: &mut Known, ordinal: u32) {
    let claim = known.claim(ordinal);
    (claim.revision, claim.request, claim.capacity) = (None, 10, 10);
}

fn moves(known: &mut Known, ordinal: u32) {
    known.done(ordinal);
    known.claim(ordinal).capacity = 19;
}

fn unready(known: &mut Known, ordinal: u32) {
    let pod = known.pod(ordinal);
    (pod.ready, pod.available) = (false, false);
}

fn on_the_node(known: &mut Known, ordinal: u32) {
    moves(known, ordinal);
    known.claim(ordinal).on_the_node = true;
}

const CLAIMS: &[Row] = &[
    ("nothing is wished", |it| it.set().target = None, &[S6]),
    ("the user has paused it", |it| it.set().paused = true, &[S6]),
    ("it is out of range", |it| it.set().replicas = 1, &[S6]),
    ("it is below the partition", |it| it.set().partition = 2, &[S6]),
    ("it is the first above", |it| it.set().partition = 1, &[]),
    (
        "Pods are replaced by hand, in any order",
        |it| (it.set().by_hand, it.set().target) = (true, None),
        &[],
    ),
    ("the one above was not written", |it| behind(it, 12), &[S6]),
    ("the one above is in motion", |it| moves(it, 12), &[S6]),
    ("the one below is in motion", |it| moves(it, 10), &[S6]),
    (
        "which is below the partition",
        |it| {
            moves(it, 10);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "both are, and this one as well",
        |it| [10, 11, 12].iter().for_each(|ordinal| moves(it, *ordinal)),
        &[],
    ),
    ("the one above waits for its node", |it| on_the_node(it, 12), &[S6]),
    (
        "and has no Pod",
        |it| {
            on_the_node(it, 12);
            it.without_pod(12);
        },
        &[],
    ),
    ("the one above has no volume", |it| it.claim(12).bound = false, &[S6]),
    (
        "the one above is being deleted",
        |it| (it.claim(12).terminating, it.claim(12).capacity) = (true, 19),
        &[],
    ),
    (
        "the one above is stuck",
        |it| (it.claim(12).stuck, it.claim(12).capacity) = (true, 19),
        &[S6],
    ),
    (
        "which stops nobody with Parallel",
        |it| {
            (it.claim(12).stuck, it.claim(12).capacity) = (true, 19);
            it.set().parallel = true;
        },
        &[],
    ),
    (
        "nor does what is somebody else's",
        |it| {
            behind(it, 12);
            (it.claim(12).ours, it.set().parallel) = (false, true);
        },
        &[],
    ),
    (
        "the one above is in motion, and two may be",
        |it| {
            moves(it, 12);
            it.set().max_in_motion = 2;
        },
        &[],
    ),
    (
        "both others are, and two may be",
        |it| {
            moves(it, 12);
            moves(it, 10);
            it.set().max_in_motion = 2;
        },
        &[S6],
    ),
    (
        "the one above is stuck, and two may be in motion",
        |it| {
            (it.claim(12).stuck, it.claim(12).capacity) = (true, 19);
            it.set().max_in_motion = 2;
        },
        &[S6],
    ),
];

#[test]
fn s6_is_broken_by_a_replica_that_is_written_before_another() {
    check(next_is_11, CLAIMS);
}

const UNREADY: &[Row] = &[
    (
        "it is not Ready, so that it comes first",
        |it| {
            behind(it, 12);
            unready(it, 11);
        },
        &[],
    ),
    (
        "the one above is not either",
        |it| {
            behind(it, 12);
            unready(it, 12);
            unready(it, 11);
        },
        &[S6],
    ),
    (
        "the one above only waits for its node, and perhaps for this one",
        |it| {
            on_the_node(it, 12);
            unready(it, 12);
            unready(it, 11);
        },
        &[],
    ),
    (
        "for which one that is Ready does not come earlier",
        |it| {
            on_the_node(it, 12);
            unready(it, 12);
        },
        &[S6],
    ),
    ("the one below is not, and comes first", |it| unready(it, 10), &[S6]),
    (
        "the one below has come already",
        |it| {
            unready(it, 10);
            it.done(10);
        },
        &[],
    ),
    (
        "the one below is out of reach",
        |it| {
            unready(it, 10);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "another is in motion all the same",
        |it| {
            moves(it, 12);
            unready(it, 11);
        },
        &[S6],
    ),
];

#[test]
fn s6_asks_for_replicas_whose_pods_are_not_ready_first() {
    check(next_is_11, UNREADY);
}

const PODS: &[Row] = &[
    (
        "the Pod above was not replaced",
        |it| it.pod(12).revision = OLD_PODS,
        &[S6],
    ),
    (
        "the Pod above is not available",
        |it| it.pod(12).available = false,
        &[S6],
    ),
    ("there is no Pod above", |it| it.without_pod(12), &[S6]),
    (
        "the status is of another spec",
        |it| it.set().status.observed = false,
        &[S6],
    ),
    (
        "Pods need not wait",
        |it| {
            it.pod(12).revision = OLD_PODS;
            it.set().lock_step = false;
        },
        &[],
    ),
    (
        "no Pod is to be replaced",
        |it| {
            it.pod(12).available = false;
            (it.pod(10).revision, it.pod(11).revision) = (it.set().pod_revision, it.set().pod_revision);
        },
        &[],
    ),
    (
        "this one is not Ready",
        |it| {
            it.pod(12).revision = OLD_PODS;
            unready(it, 11);
        },
        &[],
    ),
    (
        "the Pod above is kept by what is stuck, which stops nobody",
        |it| {
            it.pod(12).revision = OLD_PODS;
            (it.claim(12).stuck, it.claim(12).capacity) = (true, 19);
            it.set().parallel = true;
        },
        &[],
    ),
];

#[test]
fn s6_asks_for_the_pod_of_the_one_above_with_lock_step() {
    check(with_pods, PODS);
}
