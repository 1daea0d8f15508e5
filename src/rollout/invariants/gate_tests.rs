//! S7: what Pods wait for.

use super::Rule::{self, S7};
use super::fixtures::{OLD_PODS, OwnedScene, PREVIOUS, TARGET, claim, known, rules, wanted};
use super::{s7_gate, s7_keeps_no_other};

/// The Pod of replica 12 is to be replaced, and its claim was not written.
fn waits() -> OwnedScene {
    let mut known = known();
    known.set().lock_step = true;
    for ordinal in [10, 11, 12] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

/// A change, and whether the Pod may be deleted then.
type Row = (&'static str, fn(&mut OwnedScene), bool);

const GOES: bool = true;
const WAITS: bool = false;

const ROWS: &[Row] = &[
    ("its claim was not written", |_| (), WAITS),
    ("its claim is ready", |it| it.done(12), GOES),
    ("the claim of another replica is ready", |it| it.done(11), WAITS),
    (
        "its claim is at the previous target",
        |it| {
            it.done(12);
            it.claim(12).revision = Some(PREVIOUS);
        },
        WAITS,
    ),
    ("its claim has not grown", |it| grows(it), WAITS),
    (
        "only the file system is left, perhaps for the next Pod",
        |it| {
            grows(it);
            it.claim(12).on_the_node = true;
        },
        GOES,
    ),
    (
        "the file system is left, and the class is not modified",
        |it| {
            grows(it);
            (it.claim(12).on_the_node, it.claim(12).current_class) = (true, None);
        },
        WAITS,
    ),
    (
        "the node has work to do for the previous target",
        |it| (it.claim(12).on_the_node, it.claim(12).revision) = (true, Some(PREVIOUS)),
        WAITS,
    ),
    (
        "its claim is stuck",
        |it| {
            grows(it);
            it.claim(12).stuck = true;
        },
        WAITS,
    ),
    ("its claim has no volume", |it| it.claim(12).bound = false, GOES),
    ("its claim is being deleted", |it| it.claim(12).terminating = true, GOES),
    ("it has no claim", |it| it.without_claim(12), GOES),
    (
        "one of two claims is not ready",
        |it| {
            it.done(12);
            it.wanted.push(wanted(20));
            it.claims.push(claim(1, 12));
        },
        WAITS,
    ),
    (
        "both claims are ready",
        |it| {
            it.done(12);
            it.wanted.push(wanted(10));
            it.claims.push(claim(1, 12));
            it.claims[3].revision = Some(TARGET);
        },
        GOES,
    ),
    (
        "the rollout is paused",
        |it| {
            it.done(12);
            it.set().paused = true;
        },
        WAITS,
    ),
    ("the replica is out of range", |it| it.set().replicas = 2, GOES),
    ("the replica is below the partition", |it| it.set().partition = 3, GOES),
    (
        "the replica is the first above the partition",
        |it| it.set().partition = 2,
        WAITS,
    ),
    ("the Pod is being deleted", |it| it.pod(12).going = true, GOES),
    ("the Pod has ended", |it| it.pod(12).ended = true, GOES),
    ("the Pod is about to be evicted", |it| it.pod(12).disrupted = true, GOES),
    ("the set does not control the Pod", |it| it.pod(12).ours = false, GOES),
    ("the Pod is not Ready", |it| it.pod(12).ready = false, WAITS),
    (
        "the Pod is updated",
        |it| it.pod(12).revision = it.set().pod_revision,
        WAITS,
    ),
    ("there is no target", |it| it.set().target = None, GOES),
    ("sync is Async", |it| it.set().lock_step = false, GOES),
    ("the rollout is complete", |it| it.set().complete = true, GOES),
    ("the set is being deleted", |it| it.set().terminating = true, GOES),
    ("there is no set", |it| it.set = None, GOES),
];

fn grows(known: &mut OwnedScene) {
    known.done(12);
    known.claim(12).capacity = 19;
}

#[test]
fn pod_deleted_early_or_kept_for_no_reason_breaks_s7() {
    for (row, change, goes) in ROWS {
        let mut known = waits();
        change(&mut known);
        let scene = known.scene();
        let expected: [&[Rule]; 2] = if *goes { [&[], &[S7]] } else { [&[S7], &[]] };
        let judged = [rules([s7_gate(&scene, 12)]), rules([s7_keeps_no_other(&scene, 12)])];
        assert_eq!(judged, expected, "{row}");
    }
}
