//! L1 and L5: the target is reached in the end.

use super::Rule::{L1, L5};
use super::fixtures::{OLD_PODS, OwnedScene, PREVIOUS, claim, known, rules, wanted};
use super::{Rule, l1_reached, l5_stops_no_other};

type Row = (&'static str, fn(&mut OwnedScene), &'static [Rule]);

fn check(start: fn() -> OwnedScene, rows: &[Row]) {
    let broken = |known: &OwnedScene| rules([l1_reached(&known.scene()), l5_stops_no_other(&known.scene())]);
    assert_eq!(broken(&start()), [], "the start");
    for (row, change, expected) in rows {
        let mut known = start();
        change(&mut known);
        assert_eq!(broken(&known), *expected, "{row}");
    }
}

/// Every replica is updated and ready, and the phase is `Complete`.
fn reached() -> OwnedScene {
    let mut known = known();
    for ordinal in [10, 11, 12] {
        known.done(ordinal);
    }
    known.set().complete = true;
    known
}

fn behind(known: &mut OwnedScene) {
    known.claim(10).revision = Some(PREVIOUS);
}

const REACHED: &[Row] = &[
    ("a claim is outdated", behind, &[L1]),
    ("a claim has no volume", |it| it.claim(12).bound = false, &[L1]),
    ("a claim has not grown", |it| it.claim(12).capacity = 19, &[L1]),
    (
        "a claim that requests less has what it requests",
        |it| (it.claim(12).request, it.claim(12).capacity) = (15, 15),
        &[L1],
    ),
    (
        "a claim has another class",
        |it| it.claim(12).current_class = None,
        &[L1],
    ),
    ("a claim does not exist", |it| it.without_claim(11), &[L1]),
    (
        "a claim of another template does not exist",
        |it| it.wanted.push(wanted(20)),
        &[L1],
    ),
    (
        "a claim out of range is outdated",
        |it| it.claims.push(claim(0, 13)),
        &[],
    ),
    (
        "a claim that was scaled away waits for its node",
        |it| {
            (it.set().complete, it.set().replicas, it.set().followed) = (false, 2, 3);
            (it.claim(12).capacity, it.claim(12).on_the_node) = (19, true);
        },
        &[],
    ),
    (
        "the phase is not Complete, and no claim that was scaled away waits",
        |it| (it.set().complete, it.set().replicas, it.set().followed) = (false, 2, 3),
        &[L1],
    ),
    ("a Pod is not replaced", |it| it.pod(11).revision = OLD_PODS, &[L1]),
    (
        "a Pod is not Ready for long enough",
        |it| it.pod(11).available = false,
        &[L1],
    ),
    ("a Pod does not exist", |it| it.without_pod(11), &[L1]),
    ("the phase is not Complete", |it| it.set().complete = false, &[L1]),
    (
        "the phase is not Complete, with a partition",
        |it| (it.set().complete, it.set().partition) = (false, 1),
        &[],
    ),
    (
        "a claim below the partition is outdated",
        |it| {
            behind(it);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "a claim above the partition has not grown",
        |it| {
            it.set().partition = 2;
            it.claim(12).capacity = 19;
        },
        &[L1],
    ),
    (
        "the set is being deleted",
        |it| {
            behind(it);
            it.set().terminating = true;
        },
        &[],
    ),
    (
        "there is no set",
        |it| {
            behind(it);
            it.set = None;
        },
        &[],
    ),
    (
        "there is no target",
        |it| {
            behind(it);
            it.set().target = None;
        },
        &[],
    ),
    (
        "the rollout is paused",
        |it| {
            behind(it);
            it.set().paused = true;
        },
        &[],
    ),
    (
        "Pods are replaced by hand",
        |it| {
            behind(it);
            it.set().by_hand = true;
        },
        &[],
    ),
];

#[test]
fn target_not_reached_breaks_l1() {
    check(reached, REACHED);
}

/// The highest replica is stuck with `Parallel`, and the others are done. This breaks L1 and not L5.
fn stuck() -> OwnedScene {
    let mut known = reached();
    let claim = known.claim(12);
    (claim.revision, claim.request, claim.capacity, claim.stuck) = (None, 10, 10, true);
    (known.set().parallel, known.set().complete) = (true, false);
    known
}

fn lock_step(known: &mut OwnedScene) {
    known.set().lock_step = true;
}

const STUCK: &[Row] = &[
    ("a lower claim was not written", behind, &[L1, L5]),
    (
        "a lower claim waits for one in motion",
        |it| {
            behind(it);
            it.claim(11).capacity = 19;
        },
        &[L1],
    ),
    (
        "a lower claim waits for one that is stuck in motion",
        |it| {
            behind(it);
            (it.claim(11).capacity, it.claim(11).stuck) = (19, true);
        },
        &[L1, L5],
    ),
    (
        "a lower claim waits for one without a volume",
        |it| {
            behind(it);
            (it.claim(11).revision, it.claim(11).bound) = (None, false);
        },
        &[L1, L5],
    ),
    (
        "a lower claim waits for one that is being deleted",
        |it| {
            behind(it);
            (it.claim(11).revision, it.claim(11).terminating) = (None, true);
        },
        &[L1, L5],
    ),
    (
        "the lower claim has no volume",
        |it| {
            behind(it);
            it.claim(10).bound = false;
        },
        &[L1],
    ),
    (
        "the lower claim is stuck as well",
        |it| {
            behind(it);
            it.claim(10).stuck = true;
        },
        &[L1],
    ),
    (
        "the lower claim is foreign",
        |it| {
            behind(it);
            it.claim(10).ours = false;
        },
        &[L1],
    ),
    (
        "a foreign Pod mounts the lower claim",
        |it| {
            behind(it);
            it.claim(10).mounted_by_another = true;
        },
        &[L1],
    ),
    (
        "another set has a claim of the same name",
        |it| {
            behind(it);
            it.claim(10).ambiguous = true;
        },
        &[L1],
    ),
    (
        "the lower claim is below the partition",
        |it| {
            behind(it);
            it.set().partition = 1;
        },
        &[L1],
    ),
    (
        "a lower claim above the partition",
        |it| {
            it.claim(11).revision = None;
            it.set().partition = 1;
        },
        &[L1, L5],
    ),
    (
        "without Parallel, the stuck replica stops the others",
        |it| {
            behind(it);
            it.set().parallel = false;
        },
        &[L1],
    ),
    (
        "the rollout is complete, and its claims are not watched",
        |it| {
            behind(it);
            it.set().complete = true;
        },
        &[L1],
    ),
    (
        "a Pod is to be replaced, and may be",
        |it| {
            behind(it);
            lock_step(it);
            it.pod(11).revision = OLD_PODS;
            (it.claim(12).stuck, it.set().parallel) = (false, true);
            it.done(12);
        },
        &[L1],
    ),
    (
        "the stuck claim keeps the Pod above, so no Pod is replaced",
        |it| {
            behind(it);
            lock_step(it);
            it.pod(12).revision = OLD_PODS;
            it.pod(11).revision = OLD_PODS;
        },
        &[L1, L5],
    ),
    (
        "the rollout is paused",
        |it| {
            behind(it);
            it.set().paused = true;
        },
        &[],
    ),
    (
        "Pods are replaced by hand",
        |it| {
            behind(it);
            it.set().by_hand = true;
        },
        &[],
    ),
    (
        "the set is being deleted",
        |it| {
            behind(it);
            it.set().terminating = true;
        },
        &[],
    ),
    (
        "there is no target",
        |it| {
            behind(it);
            it.set().target = None;
        },
        &[],
    ),
];

#[test]
fn claim_waiting_for_a_stuck_one_breaks_l5() {
    fn judged(known: &OwnedScene) -> Vec<Rule> {
        rules([l1_reached(&known.scene()), l5_stops_no_other(&known.scene())])
    }
    assert_eq!(judged(&stuck()), [L1], "only the stuck claim is outdated");
    for (row, change, expected) in STUCK {
        let mut known = stuck();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{row}");
    }
}
