//! S6: the turn of a replica, as the decision saw it.

use super::Rule::{self, S6};
use super::fixtures::{OLD_PODS, OwnedScene, known, rules};
use super::s6_in_turn;

/// Replica 12 is done, and 11 is next.
fn next_is_11() -> OwnedScene {
    let mut known = known();
    known.done(12);
    known
}

/// Pods are to be replaced as well; the Pod of 12 was.
fn with_pods() -> OwnedScene {
    let mut known = next_is_11();
    known.set().lock_step = true;
    for ordinal in [10, 11] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

type Row = (&'static str, fn(&mut OwnedScene), &'static [Rule]);

fn check(start: fn() -> OwnedScene, rows: &[Row]) {
    let judged = |known: &OwnedScene| rules([s6_in_turn(&known.scene(), 11)]);
    assert_eq!(judged(&start()), [], "the start");
    for (row, change, expected) in rows {
        let mut known = start();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{row}");
    }
}

fn behind(known: &mut OwnedScene, ordinal: u32) {
    let claim = known.claim(ordinal);
    (claim.revision, claim.request, claim.capacity) = (None, 10, 10);
}

fn moves(known: &mut OwnedScene, ordinal: u32) {
    known.done(ordinal);
    known.claim(ordinal).capacity = 19;
}

fn unready(known: &mut OwnedScene, ordinal: u32) {
    let pod = known.pod(ordinal);
    (pod.ready, pod.available) = (false, false);
}

fn on_the_node(known: &mut OwnedScene, ordinal: u32) {
    moves(known, ordinal);
    known.claim(ordinal).on_the_node = true;
}

const CLAIMS: &[Row] = &[
    ("there is no target", |it| it.set().target = None, &[S6]),
    ("the rollout is paused", |it| it.set().paused = true, &[S6]),
    ("it is out of range", |it| it.set().replicas = 1, &[S6]),
    ("it is below the partition", |it| it.set().partition = 2, &[S6]),
    ("it is the first above the partition", |it| it.set().partition = 1, &[]),
    (
        "Pods are replaced by hand, in any order",
        |it| (it.set().by_hand, it.set().target) = (true, None),
        &[],
    ),
    ("the one above was not written", |it| behind(it, 12), &[S6]),
    ("the one above is in motion", |it| moves(it, 12), &[S6]),
    ("the one below is in motion", |it| moves(it, 10), &[S6]),
    (
        "the one below the partition is in motion",
        |it| {
            moves(it, 10);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "all three are in motion",
        |it| [10, 11, 12].iter().for_each(|ordinal| moves(it, *ordinal)),
        &[],
    ),
    ("the one above waits for its node", |it| on_the_node(it, 12), &[S6]),
    (
        "the one above waits for its node, and has no Pod",
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
        "with Parallel, the one above is stuck",
        |it| {
            (it.claim(12).stuck, it.claim(12).capacity) = (true, 19);
            it.set().parallel = true;
        },
        &[],
    ),
    (
        "with Parallel, the one above is foreign",
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
        "both others are in motion, and two may be",
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
fn replica_written_before_a_higher_one_breaks_s6() {
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
        "the one above is not Ready either",
        |it| {
            behind(it, 12);
            unready(it, 12);
            unready(it, 11);
        },
        &[S6],
    ),
    (
        "the one above waits for its node, and perhaps for this one",
        |it| {
            on_the_node(it, 12);
            unready(it, 12);
            unready(it, 11);
        },
        &[],
    ),
    (
        "the one above waits for its node, and this one is Ready",
        |it| {
            on_the_node(it, 12);
            unready(it, 12);
        },
        &[S6],
    ),
    (
        "the one below is not Ready, and comes first",
        |it| unready(it, 10),
        &[S6],
    ),
    (
        "the one below is not Ready, and is done",
        |it| {
            unready(it, 10);
            it.done(10);
        },
        &[],
    ),
    (
        "the one below is not Ready, and is below the partition",
        |it| {
            unready(it, 10);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "it is not Ready, and another is in motion",
        |it| {
            moves(it, 12);
            unready(it, 11);
        },
        &[S6],
    ),
];

#[test]
fn replica_before_an_unready_one_breaks_s6() {
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
        "the status is of a previous spec",
        |it| it.set().status.observed = false,
        &[S6],
    ),
    (
        "sync is Async",
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
        "the Pod of this one is not Ready",
        |it| {
            it.pod(12).revision = OLD_PODS;
            unready(it, 11);
        },
        &[],
    ),
    (
        "with Parallel, a stuck claim keeps the Pod above",
        |it| {
            it.pod(12).revision = OLD_PODS;
            (it.claim(12).stuck, it.claim(12).capacity) = (true, 19);
            it.set().parallel = true;
        },
        &[],
    ),
];

#[test]
fn replica_before_the_pod_above_breaks_s6() {
    check(with_pods, PODS);
}

/// Replicas 11 and 12 were scaled away since the target was staged; 10 is done, and 12.
fn scaled_away() -> OwnedScene {
    let mut known = known();
    (known.set().replicas, known.set().followed) = (1, 3);
    known.without_pod(11);
    known.without_pod(12);
    known.done(10);
    known.done(12);
    known
}

const AWAY: &[Row] = &[
    ("it was scaled away before", |it| it.set().followed = 2, &[]),
    ("it is not followed", |it| it.set().followed = 1, &[S6]),
    ("it is below the partition", |it| it.set().partition = 2, &[S6]),
    ("the one in range was not written", |it| behind(it, 10), &[S6]),
    ("the one in range is in motion", |it| moves(it, 10), &[S6]),
    ("the one above was not written", |it| behind(it, 12), &[S6]),
    ("the one above is in motion", |it| moves(it, 12), &[S6]),
    ("the one above waits for its node", |it| on_the_node(it, 12), &[]),
    (
        "the one above has no volume",
        |it| {
            behind(it, 12);
            it.claim(12).bound = false;
        },
        &[],
    ),
    (
        "the one above belongs to another owner",
        |it| {
            behind(it, 12);
            it.claim(12).ours = false;
        },
        &[],
    ),
    (
        "the Pod in range is to be replaced",
        |it| (it.set().lock_step, it.pod(10).revision) = (true, OLD_PODS),
        &[S6],
    ),
];

#[test]
fn replica_scaled_away_comes_last() {
    check(scaled_away, AWAY);
}
