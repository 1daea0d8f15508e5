//! What S6 says of Pods that are deleted by hand.

use super::PodFacts;
use super::Rule::S6;
use super::fixtures::{EARLIER, History, Row, check, known};

/// Somebody deletes the Pod of replica 11 by hand, and no other.
fn by_hand() -> History {
    let mut history = History::of_apply(11);
    history.before.set().by_hand = true;
    history.before.without_pod(11);
    history
}

const BY_HAND: &[Row] = &[
    ("its Pod is on its way out", |it| it.before.pods.push(going(11)), &[]),
    (
        "its Pod is there",
        |it| {
            it.before.pods.push(going(11));
            it.before.pod(11).going = false;
        },
        &[S6],
    ),
    (
        "it was gone, whatever was wished then",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.before.pods.push(going(11));
            it.before.pod(11).going = false;
        },
        &[],
    ),
    (
        "Pods were replaced in order when this was wished for the first time",
        |it| {
            it.once(|_| ());
            it.once(|then| then.set().target = Some(EARLIER));
            it.once(|then| then.set().by_hand = false);
            it.before.pods.push(going(11));
            it.before.pod(11).going = false;
        },
        &[],
    ),
    (
        "Pods were replaced in order in an earlier wish",
        |it| {
            it.before.pods.push(going(11));
            it.before.pod(11).going = false;
            it.once(|then| {
                then.set().target = Some(EARLIER);
                then.set().by_hand = false;
            });
        },
        &[S6],
    ),
    (
        "a partition is nothing to Pods that are replaced by hand",
        |it| it.before.set().partition = 2,
        &[],
    ),
    (
        "they were replaced by hand once",
        |it| {
            it.once(|_| ());
            it.before.set().by_hand = false;
        },
        &[],
    ),
    (
        "they were replaced by hand in an earlier wish",
        |it| {
            it.once(|then| then.set().target = Some(EARLIER));
            it.before.set().by_hand = false;
        },
        &[S6],
    ),
];

fn going(ordinal: u32) -> PodFacts {
    PodFacts {
        going: true,
        ..*known().pod(ordinal)
    }
}

#[test]
fn s6_is_broken_by_a_replica_whose_pod_nobody_has_deleted() {
    check(by_hand, BY_HAND);
}
