//! When a Pod may be released (S7).

use super::Rule::{S6, S7};
use super::fixtures::{EARLIER, History, Known, OLD_PODS, PODS, Row, WISH, check, claim};
use super::{Wanted, What};

/// The claims of replica 12 are ready, and its Pod is to go.
fn release_the_highest() -> History {
    let mut history = History::of_partition(Some(2), false);
    history.before.done(12);
    history
}

/// The Pod of replica 12 was replaced, the claims of replica 11 are ready, and its Pod is to go.
fn release_the_next() -> History {
    let mut history = History::of_partition(Some(1), false);
    history.before.done(12);
    history.before.done(11);
    history.before.pod(12).revision = PODS;
    history
}

fn replaced(known: &mut Known) {
    known.pod(12).revision = PODS;
}

fn not_bound(known: &mut Known) {
    known.claim(12).bound = false;
}

fn waits_for_the_node(known: &mut Known) {
    known.done(12);
    known.claim(12).capacity = 10;
    known.claim(12).on_the_node = true;
}

const CLAIMS_FIRST: &[Row] = &[
    (
        "the claim is not at the wish",
        |it| it.before.claim(12).revision = None,
        &[S7],
    ),
    ("the claim is not ready", |it| it.before.claim(12).capacity = 19, &[S7]),
    (
        "the claim was ready once",
        |it| {
            it.once(|_| ());
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "the claim was ready in an earlier wish",
        |it| {
            it.once(|then| {
                then.set().wish = Some(EARLIER);
                then.claim(12).revision = Some(EARLIER);
            });
            it.before.claim(12).capacity = 19;
        },
        &[S7],
    ),
    (
        "the claim was ready when this was wished for the first time",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().wish = Some(EARLIER));
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    ("there is no claim", |it| it.before.without_claim(12), &[]),
    (
        "the claim has no volume, perhaps because of its Pod",
        |it| not_bound(&mut it.before),
        &[],
    ),
    (
        "which this Pod is not to be replaced for",
        |it| {
            not_bound(&mut it.before);
            replaced(&mut it.before);
        },
        &[S7],
    ),
    (
        "only the node has something left to do, perhaps with the next Pod",
        |it| waits_for_the_node(&mut it.before),
        &[],
    ),
    (
        "which this Pod is",
        |it| {
            waits_for_the_node(&mut it.before);
            replaced(&mut it.before);
        },
        &[S7],
    ),
    (
        "unless it is on its way out",
        |it| {
            waits_for_the_node(&mut it.before);
            replaced(&mut it.before);
            it.before.pod(12).going = true;
        },
        &[],
    ),
    (
        "or was to be replaced at another time",
        |it| {
            waits_for_the_node(&mut it.before);
            replaced(&mut it.before);
            it.once(|then| then.pod(12).revision = OLD_PODS);
        },
        &[],
    ),
    (
        "when Pods were to run something else",
        |it| {
            waits_for_the_node(&mut it.before);
            replaced(&mut it.before);
            it.once(|then| then.set().pod_revision = OLD_PODS);
        },
        &[S7],
    ),
    (
        "for which they are to run again what they ran",
        |it| {
            waits_for_the_node(&mut it.before);
            it.once(|_| ());
            replaced(&mut it.before);
            it.once(|then| then.set().pod_revision = OLD_PODS);
        },
        &[],
    ),
    (
        "the node has something left to do for an earlier wish",
        |it| {
            waits_for_the_node(&mut it.before);
            it.before.claim(12).revision = Some(EARLIER);
        },
        &[S7],
    ),
    (
        "as it had then",
        |it| {
            waits_for_the_node(&mut it.before);
            it.before.claim(12).revision = Some(EARLIER);
            it.once(|then| then.set().wish = Some(EARLIER));
        },
        &[S7],
    ),
    (
        "one of two claims is not ready",
        |it| {
            let other = Wanted { size: 20, class: None };
            it.before.wanted.push(other);
            it.before.claims.extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
        },
        &[S7],
    ),
    (
        "nothing is wished",
        |it| {
            it.before.set().wish = None;
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "claims need not come first",
        |it| {
            it.before.set().lock_step = false;
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "the wish has been reached",
        |it| {
            it.before.set().complete = true;
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "the strategy has no partition",
        |it| {
            it.request.what = What::Partition { to: None, lift: true };
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "the hold ends too early",
        |it| {
            it.request.what = What::Partition {
                to: Some(0),
                lift: true,
            }
        },
        &[S7],
    ),
    (
        "another write of the set",
        |it| {
            it.request.what = What::Record;
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
];

#[test]
fn s7_is_broken_by_a_pod_that_is_released_before_its_claims_are_ready() {
    check(release_the_highest, CLAIMS_FIRST);
}

const PODS_ABOVE: &[Row] = &[
    (
        "the Pod above was not replaced",
        |it| it.before.pod(12).revision = OLD_PODS,
        &[S7],
    ),
    (
        "the Pod above is not Ready",
        |it| it.before.pod(12).ready = false,
        &[S7],
    ),
    ("there is no Pod above", |it| it.before.without_pod(12), &[S7]),
    (
        "the Pod above is not the set's",
        |it| it.before.pod(12).ours = false,
        &[S7],
    ),
    (
        "the Pod above was replaced and Ready once",
        |it| {
            it.once(|_| ());
            it.before.pod(12).ready = false;
        },
        &[],
    ),
    (
        "Pods were to run something else then",
        |it| {
            it.once(|then| {
                then.set().pod_revision = OLD_PODS;
                then.pod(12).revision = OLD_PODS;
            });
            it.before.pod(12).ready = false;
        },
        &[S7],
    ),
    (
        "which is what they are to run again",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().pod_revision = OLD_PODS);
            it.before.pod(12).ready = false;
        },
        &[],
    ),
    (
        "or what they ran when they were to run something else",
        |it| {
            it.once(|then| then.set().pod_revision = OLD_PODS);
            it.before.pod(12).ready = false;
        },
        &[],
    ),
    (
        "four revisions ago",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().pod_revision = OLD_PODS);
            it.once(|then| then.set().pod_revision = OLD_PODS - 1);
            it.once(|then| then.set().pod_revision = OLD_PODS - 2);
            it.once(|then| then.set().pod_revision = OLD_PODS - 3);
            it.before.pod(12).ready = false;
        },
        &[S7],
    ),
    (
        "a partition of the user's keeps what is above from mattering",
        |it| {
            it.before.set().users_partition = 2;
            it.before.pod(12).revision = OLD_PODS;
            it.before.claim(11).capacity = 19;
        },
        &[S6],
    ),
];

#[test]
fn s7_is_broken_by_a_pod_that_is_released_before_those_above_were_replaced() {
    check(release_the_next, PODS_ABOVE);
    let mut history = release_the_next();
    history.before.claim(12).revision = Some(WISH + 1);
    assert_eq!(history.breaks(), [S7], "the claim above is not at the wish");
}
