//! S6: the order of the rollout.

use super::Rule::S6;
use super::fixtures::{OwnedScene, PREVIOUS, Row, Trace, check, claim, wanted};

/// Replica 12 is done, and 11 is next.
pub(super) fn grow_the_next() -> Trace {
    let mut trace = Trace::of_apply(11);
    trace.before.done(12);
    trace
}

pub(super) fn behind(known: &mut OwnedScene) {
    let claim = known.claim(12);
    (claim.revision, claim.request, claim.capacity) = (None, 10, 10);
}

fn parallel(trace: &mut Trace) {
    behind(&mut trace.before);
    trace.before.set().parallel = true;
}

const ORDER: &[Row] = &[
    ("the one above was not written", |it| behind(&mut it.before), &[S6]),
    (
        "the write was decided for a deleted set",
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
        "it was ready at the previous target",
        |it| {
            it.once(|then| {
                then.set().target = Some(PREVIOUS);
                then.claim(12).revision = Some(PREVIOUS);
            });
            behind(&mut it.before);
        },
        &[S6],
    ),
    (
        "it was ready when this target came first",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(PREVIOUS));
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "it was ready in the previous set with the same target",
        |it| {
            it.once(|then| then.set().uid = 2);
            it.once(|then| then.set().target = None);
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "it was ready in the previous set with another target",
        |it| {
            it.once(|then| {
                then.set().uid = 2;
                then.set().target = Some(PREVIOUS);
            });
            behind(&mut it.before);
        },
        &[S6],
    ),
    (
        "one of its claims was not written",
        |it| {
            it.before.wanted.push(wanted(20));
            it.before.claims.extend([10, 11, 12].map(|ordinal| claim(1, ordinal)));
        },
        &[S6],
    ),
    (
        "the write was decided for the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            behind(&mut it.before);
            it.revision(PREVIOUS);
        },
        &[],
    ),
    ("there is no claim above", |it| it.before.without_claim(12), &[]),
    (
        "there was no claim above at the previous target",
        |it| {
            it.once(|then| {
                then.set().target = Some(PREVIOUS);
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
        "the one above has neither a volume nor a Pod",
        |it| {
            behind(&mut it.before);
            it.before.claim(12).bound = false;
            it.before.without_pod(12);
        },
        &[],
    ),
    (
        "the one above has no volume, and had no Pod at the previous target",
        |it| {
            behind(&mut it.before);
            it.once(|then| {
                then.without_pod(12);
                then.set().target = Some(PREVIOUS);
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
        "the one above waits for the node, and has no Pod",
        |it| {
            it.before.claim(12).capacity = 19;
            it.before.claim(12).on_the_node = true;
            it.before.without_pod(12);
        },
        &[],
    ),
    (
        "the one above waits for the node, and its Pod is being deleted",
        |it| {
            it.before.claim(12).capacity = 19;
            it.before.claim(12).on_the_node = true;
            it.before.pod(12).going = true;
        },
        &[],
    ),
    (
        "the one above has no Pod, and does not need one",
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
    ("Parallel has the same order", parallel, &[S6]),
    (
        "with Parallel, a stuck claim stops no other",
        |it| {
            parallel(it);
            it.before.claim(12).stuck = true;
        },
        &[],
    ),
    (
        "with Parallel, a foreign claim stops no other",
        |it| {
            parallel(it);
            it.before.claim(12).ours = false;
        },
        &[],
    ),
    (
        "with Parallel, a claim without a volume stops no other",
        |it| {
            parallel(it);
            it.before.claim(12).bound = false;
        },
        &[],
    ),
    (
        "with Parallel, the one above was foreign at the previous target",
        |it| {
            parallel(it);
            it.once(|then| {
                then.claim(12).ours = false;
                then.set().target = Some(PREVIOUS);
            });
        },
        &[],
    ),
    (
        "with Parallel, a foreign Pod mounts the one above",
        |it| {
            parallel(it);
            it.before.claim(12).mounted_by_another = true;
        },
        &[],
    ),
    (
        "with Parallel, another set has a claim of the same name",
        |it| {
            parallel(it);
            it.before.claim(12).ambiguous = true;
        },
        &[],
    ),
];

#[test]
fn replica_before_its_turn_breaks_s6() {
    check(grow_the_next, ORDER);
}

const PARTITIONS: &[Row] = &[
    ("it is below the partition", |it| it.before.set().partition = 2, &[S6]),
    (
        "it is the first above the partition",
        |it| it.before.set().partition = 1,
        &[],
    ),
    (
        "it was above the partition at this target",
        |it| {
            it.once(|then| then.set().partition = 1);
            it.before.set().partition = 2;
        },
        &[],
    ),
    (
        "it was above the partition at the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.before.set().partition = 2;
        },
        &[S6],
    ),
    (
        "it was above the partition when this target came first",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.before.set().partition = 2;
        },
        &[],
    ),
    (
        "the write was decided for the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.before.set().partition = 2;
            it.revision(PREVIOUS);
        },
        &[],
    ),
];

#[test]
fn replica_below_the_partition_breaks_s6() {
    check(grow_the_next, PARTITIONS);
}
