//! What is reached in the end (L1, L5): each is broken by what breaks it.

use super::Rule::{L1, L5};
use super::fixtures::{EARLIER, Known, OLD_PODS, claim, known, rules};
use super::{Rule, Wanted, l1_reached, l5_stops_no_other};

type Row = (&'static str, fn(&mut Known), &'static [Rule]);

fn check(start: fn() -> Known, rows: &[Row]) {
    let broken = |known: &Known| rules([l1_reached(&known.scene()), l5_stops_no_other(&known.scene())]);
    assert_eq!(broken(&start()), [], "nothing is spoilt");
    for (sentence, change, expected) in rows {
        let mut known = start();
        change(&mut known);
        assert_eq!(broken(&known), *expected, "{sentence}");
    }
}

/// Every replica is at the wish, and the record says so.
fn reached() -> Known {
    let mut known = known();
    for ordinal in [10, 11, 12] {
        known.done(ordinal);
    }
    known.set().complete = true;
    known
}

fn behind(known: &mut Known) {
    known.claim(10).revision = Some(EARLIER);
}

const REACHED: &[Row] = &[
    ("a claim is not at the wish", behind, &[L1]),
    ("a claim has no volume", |it| it.claim(12).bound = false, &[L1]),
    ("a claim has not grown", |it| it.claim(12).capacity = 19, &[L1]),
    (
        "a claim that asks for less has what it asks for",
        |it| (it.claim(12).request, it.claim(12).capacity) = (15, 15),
        &[],
    ),
    (
        "a claim has another class",
        |it| it.claim(12).current_class = None,
        &[L1],
    ),
    ("a claim does not exist", |it| it.without_claim(11), &[L1]),
    (
        "a claim of another template does not exist",
        |it| it.wanted.push(Wanted { size: 20, class: None }),
        &[L1],
    ),
    (
        "a claim out of range is not at the wish",
        |it| it.claims.push(claim(0, 13)),
        &[],
    ),
    ("a Pod is not replaced", |it| it.pod(11).revision = OLD_PODS, &[L1]),
    (
        "a Pod is not Ready for long enough",
        |it| it.pod(11).available = false,
        &[L1],
    ),
    ("a Pod does not exist", |it| it.without_pod(11), &[L1]),
    ("the record does not say so", |it| it.set().complete = false, &[L1]),
    (
        "the record need not say so before the partition is gone",
        |it| (it.set().complete, it.set().partition) = (false, 1),
        &[],
    ),
    (
        "a claim below the partition is not at the wish",
        |it| {
            behind(it);
            it.set().partition = 1;
        },
        &[],
    ),
    (
        "one above is not",
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
        "nothing is wished",
        |it| {
            behind(it);
            it.set().target = None;
        },
        &[],
    ),
    (
        "the user holds it",
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
fn l1_is_broken_by_a_wish_that_is_not_reached() {
    check(reached, REACHED);
}

/// The highest replica is stuck with `Parallel`, the others have been reached. It is not to end like this, so that L1 is not
/// asked for.
fn stuck() -> Known {
    let mut known = reached();
    let claim = known.claim(12);
    (claim.revision, claim.request, claim.capacity, claim.stuck) = (None, 10, 10, true);
    (known.set().parallel, known.set().complete) = (true, false);
    known
}

fn lock_step(known: &mut Known) {
    known.set().lock_step = true;
}

const STUCK: &[Row] = &[
    ("a lower one was not written", behind, &[L1, L5]),
    (
        "a lower one waits for one that is on its way",
        |it| {
            behind(it);
            it.claim(11).capacity = 19;
        },
        &[L1],
    ),
    (
        "not for one that is stuck on its way",
        |it| {
            behind(it);
            (it.claim(11).capacity, it.claim(11).stuck) = (19, true);
        },
        &[L1, L5],
    ),
    (
        "nor for one that has no volume",
        |it| {
            behind(it);
            (it.claim(11).revision, it.claim(11).bound) = (None, false);
        },
        &[L1, L5],
    ),
    (
        "nor for one that is being deleted",
        |it| {
            behind(it);
            (it.claim(11).revision, it.claim(11).terminating) = (None, true);
        },
        &[L1, L5],
    ),
    (
        "the lower one has no volume",
        |it| {
            behind(it);
            it.claim(10).bound = false;
        },
        &[L1],
    ),
    (
        "the lower one is stuck as well",
        |it| {
            behind(it);
            it.claim(10).stuck = true;
        },
        &[L1],
    ),
    (
        "the lower one is somebody else's",
        |it| {
            behind(it);
            it.claim(10).ours = false;
        },
        &[L1],
    ),
    (
        "another's Pod mounts the lower one",
        |it| {
            behind(it);
            it.claim(10).mounted_by_another = true;
        },
        &[L1],
    ),
    (
        "another set gives the lower one the same name",
        |it| {
            behind(it);
            it.claim(10).ambiguous = true;
        },
        &[L1],
    ),
    (
        "the lower one is below the partition",
        |it| {
            behind(it);
            it.set().partition = 1;
        },
        &[L1],
    ),
    (
        "a lower one above the partition",
        |it| {
            it.claim(11).revision = None;
            it.set().partition = 1;
        },
        &[L1, L5],
    ),
    (
        "what is stuck stops the others without Parallel",
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
        "the Pod above is kept by what is stuck, so that none is replaced",
        |it| {
            behind(it);
            lock_step(it);
            it.pod(12).revision = OLD_PODS;
            it.pod(11).revision = OLD_PODS;
        },
        &[L1, L5],
    ),
    (
        "the user holds it",
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
        "nothing is wished",
        |it| {
            behind(it);
            it.set().target = None;
        },
        &[],
    ),
];

#[test]
fn l5_is_broken_by_a_claim_that_waits_for_one_that_is_stuck() {
    fn judged(known: &Known) -> Vec<Rule> {
        rules([l1_reached(&known.scene()), l5_stops_no_other(&known.scene())])
    }
    assert_eq!(judged(&stuck()), [L1], "only the stuck one is behind");
    for (sentence, change, expected) in STUCK {
        let mut known = stuck();
        change(&mut known);
        assert_eq!(judged(&known), *expected, "{sentence}");
    }
}
