//! S6 for Pods that are deleted by hand.

use super::PodFacts;
use super::Rule::S6;
use super::fixtures::{PREVIOUS, Row, Trace, check, known};

/// Somebody deletes the Pod of replica 11 by hand, and no other.
fn by_hand() -> Trace {
    let mut trace = Trace::of_apply(11);
    trace.before.set().by_hand = true;
    trace.before.without_pod(11);
    trace
}

const BY_HAND: &[Row] = &[
    (
        "its Pod is being deleted",
        |it| it.before.pods.push(terminating(11)),
        &[],
    ),
    (
        "its Pod exists",
        |it| {
            it.before.pods.push(terminating(11));
            it.before.pod(11).going = false;
        },
        &[S6],
    ),
    (
        "its Pod did not exist once, at the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.before.pods.push(terminating(11));
            it.before.pod(11).going = false;
        },
        &[],
    ),
    (
        "Pods were replaced in order when this target came first",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.once(|then| then.set().by_hand = false);
            it.before.pods.push(terminating(11));
            it.before.pod(11).going = false;
        },
        &[],
    ),
    (
        "Pods were replaced in order at the previous target",
        |it| {
            it.before.pods.push(terminating(11));
            it.before.pod(11).going = false;
            it.once(|then| {
                then.set().target = Some(PREVIOUS);
                then.set().by_hand = false;
            });
        },
        &[S6],
    ),
    ("the partition does not matter", |it| it.before.set().partition = 2, &[]),
    (
        "Pods were replaced by hand once",
        |it| {
            it.once(|_| ());
            it.before.set().by_hand = false;
        },
        &[],
    ),
    (
        "Pods were replaced by hand at the previous target",
        |it| {
            it.once(|then| then.set().target = Some(PREVIOUS));
            it.before.set().by_hand = false;
        },
        &[S6],
    ),
];

fn terminating(ordinal: u32) -> PodFacts {
    PodFacts {
        going: true,
        ..*known().pod(ordinal)
    }
}

#[test]
fn replica_before_its_pod_is_deleted_breaks_s6() {
    check(by_hand, BY_HAND);
}
