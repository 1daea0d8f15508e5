//! The order of the rollout (S6).

use super::Rule::S6;
use super::Wanted;
use super::fixtures::{EARLIER, History, Known, Row, check, claim};

/// Replica 12 is done, and 11 is next.
pub(super) fn grow_the_next() -> History {
    let mut history = History::of_apply(11);
    history.before.done(12);
    history
}

pub(super) fn behind(known: &mut Known) {
    let claim = known.claim(12);
    (claim.revision, claim.request, claim.capacity) = (None, 10, 10);
}

fn parallel(history: &mut History) {
    behind(&mut history.before);
    history.before.set().parallel = true;
}

const ORDER: &[Row] = &[
    ("the one above was not written", |it| behind(&mut it.before), &[S6]),
    (
        "what was decided for a set that is no more had the order of that set",
        |it| {
            behind(&mut it.before);
            it.request.set = Some(2);
        },
        &[],
    ),
    (
        "the one above is not ready",
        |it| it.before.claim(12).capacity = 19,
        &[S6],
    ),
    (
        "it was ready once",
        |it| {
            it.once(|_| ());
            it.before.claim(12).capacity = 19;
        },
        &[],
    ),
    (
        "it was ready in an earlier wish",
        |it| {
            it.once(|then| {
                then.set().target = Some(EARLIER);
                then.claim(12).revision = Some(EARLIER);
            });
            behind(&mut it.before);
        },
        &[S6],
    ),
    (
        "it was ready when this was wished for the first time",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(EARLIER));
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "it was ready in the set before, for which the same was wished",
        |it| {
            it.once(|then| then.set().uid = 2);
            it.once(|then| then.set().target = None);
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "it was ready in the set before, for which something else was wished",
        |it| {
            it.once(|then| {
                then.set().uid = 2;
                then.set().target = Some(EARLIER);
            });
            behind(&mut it.before);
        },
        &[S6],
    ),
    (
        "one of its claims was not written",
        |it| {
            it.before.wanted.push(Wanted { size: 20, class: None });
            it.before.claims.extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
        },
        &[S6],
    ),
    (
        "what was decided for an earlier wish has its own order",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            behind(&mut it.before);
            it.revision(EARLIER);
        },
        &[],
    ),
    ("there is none above", |it| it.before.without_claim(12), &[]),
    (
        "there was none above, whatever was wished then",
        |it| {
            it.once(|then| {
                then.set().target = Some(EARLIER);
                then.without_claim(12);
            });
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "the one above was out of range",
        |it| {
            it.once(|then| then.set().replicas = 2);
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "the one above is being deleted",
        |it| {
            behind(&mut it.before);
            it.before.claim(12).terminating = true;
        },
        &[],
    ),
    (
        "the one above has no volume",
        |it| {
            behind(&mut it.before);
            it.before.claim(12).bound = false;
        },
        &[S6],
    ),
    (
        "and there is no Pod that it could be for",
        |it| {
            behind(&mut it.before);
            it.before.claim(12).bound = false;
            it.before.without_pod(12);
        },
        &[],
    ),
    (
        "or was none at another time, whatever was wished then",
        |it| {
            behind(&mut it.before);
            it.once(|then| {
                then.without_pod(12);
                then.set().target = Some(EARLIER);
            });
            it.before.claim(12).bound = false;
        },
        &[],
    ),
    (
        "the one above waits for the node",
        |it| {
            it.before.claim(12).capacity = 19;
            it.before.claim(12).on_the_node = true;
        },
        &[S6],
    ),
    (
        "and there is no Pod",
        |it| {
            it.before.claim(12).capacity = 19;
            it.before.claim(12).on_the_node = true;
            it.before.without_pod(12);
        },
        &[],
    ),
    (
        "or the Pod is on its way out",
        |it| {
            it.before.claim(12).capacity = 19;
            it.before.claim(12).on_the_node = true;
            it.before.pod(12).going = true;
        },
        &[],
    ),
    (
        "there is no Pod, but nothing waits for one",
        |it| {
            behind(&mut it.before);
            it.before.without_pod(12);
        },
        &[S6],
    ),
    (
        "the one above is stuck",
        |it| {
            behind(&mut it.before);
            it.before.claim(12).stuck = true;
        },
        &[S6],
    ),
    ("with Parallel the order is the same", parallel, &[S6]),
    (
        "but one that is stuck stops no other",
        |it| {
            parallel(it);
            it.before.claim(12).stuck = true;
        },
        &[],
    ),
    (
        "nor one that is somebody else's",
        |it| {
            parallel(it);
            it.before.claim(12).ours = false;
        },
        &[],
    ),
    (
        "nor one that has no volume",
        |it| {
            parallel(it);
            it.before.claim(12).bound = false;
        },
        &[],
    ),
    (
        "nor one that was somebody else's, whatever was wished then",
        |it| {
            parallel(it);
            it.once(|then| {
                then.claim(12).ours = false;
                then.set().target = Some(EARLIER);
            });
        },
        &[],
    ),
    (
        "nor one that another's Pod mounts",
        |it| {
            parallel(it);
            it.before.claim(12).mounted_by_another = true;
        },
        &[],
    ),
    (
        "nor one that another set gives the same name",
        |it| {
            parallel(it);
            it.before.claim(12).ambiguous = true;
        },
        &[],
    ),
];

#[test]
fn s6_is_broken_by_a_replica_whose_turn_it_is_not() {
    check(grow_the_next, ORDER);
}

const PARTITIONS: &[Row] = &[
    (
        "it is below the user's partition",
        |it| it.before.set().partition = 2,
        &[S6],
    ),
    ("it is the first above", |it| it.before.set().partition = 1, &[]),
    (
        "it was above since the wish was made",
        |it| {
            it.once(|then| then.set().partition = 1);
            it.before.set().partition = 2;
        },
        &[],
    ),
    (
        "it was above in an earlier wish",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.before.set().partition = 2;
        },
        &[S6],
    ),
    (
        "it was above when this was wished for the first time",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(EARLIER));
            it.before.set().partition = 2;
        },
        &[],
    ),
    (
        "what was decided for an earlier wish has its own partition",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.before.set().partition = 2;
            it.revision(EARLIER);
        },
        &[],
    ),
];

#[test]
fn s6_is_broken_by_a_replica_below_the_partition() {
    check(grow_the_next, PARTITIONS);
}
