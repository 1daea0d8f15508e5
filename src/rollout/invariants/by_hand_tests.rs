//! S6 and L1 for Pods that are deleted by hand.

use super::Rule::{L1, S6};
use super::fixtures::{OwnedScene, PREVIOUS, Row, TARGET, Trace, check, known, rules};
use super::{PodFacts, Rule, l1_follows_hand};

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

/// Somebody has deleted the Pod of replica 11 after the target was staged, and its claim is still outdated.
fn deleted() -> OwnedScene {
    let mut known = known();
    known.set().by_hand = true;
    known.pod(11).after_staging = true;
    known
}

type LeftRow = (&'static str, fn(&mut OwnedScene), &'static [Rule]);

const LEFT: &[LeftRow] = &[
    ("the claim waits", |_| {}, &[L1]),
    ("the Pod does not exist", |it| it.without_pod(11), &[L1]),
    (
        "the Pod is being deleted",
        |it| (it.pod(11).after_staging, it.pod(11).going) = (false, true),
        &[L1],
    ),
    ("nobody has deleted the Pod", |it| it.pod(11).after_staging = false, &[]),
    ("the claim is updated", |it| it.claim(11).revision = Some(TARGET), &[]),
    ("the claim is stuck", |it| it.claim(11).stuck = true, &[]),
    ("the claim is foreign", |it| it.claim(11).ours = false, &[]),
    ("the claim is out of range", |it| it.set().replicas = 1, &[]),
    ("the rollout is paused", |it| it.set().paused = true, &[]),
    ("the rollout is complete", |it| it.set().complete = true, &[]),
    ("the set is being deleted", |it| it.set().terminating = true, &[]),
    ("there is no target", |it| it.set().target = None, &[]),
    ("Pods are replaced in order", |it| it.set().by_hand = false, &[]),
];

#[test]
fn claim_left_after_its_pod_was_deleted_breaks_l1() {
    for (row, change, expected) in LEFT {
        let mut known = deleted();
        change(&mut known);
        assert_eq!(rules([l1_follows_hand(&known.scene())]), *expected, "{row}");
    }
}
