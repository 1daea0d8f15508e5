//! What Pods wait for (S7).

use super::Rule::{self, S7};
use super::Wanted;
use super::fixtures::{EARLIER, Known, OLD_PODS, TARGET, claim, known, rules};
use super::{s7_gate, s7_keeps_no_other};

/// The Pod of replica 12 is to be replaced, and its claim was not written.
fn waits() -> Known {
    let mut known = known();
    known.set().lock_step = true;
    for ordinal in [10, 11, 12] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

/// What is changed, and what is broken if the Pod goes, or else if it is kept.
type Row = (&'static str, fn(&mut Known), bool);

const GOES: bool = true;
const WAITS: bool = false;

const ROWS: &[Row] = &[
    ("its claim was not written", |_| (), WAITS),
    ("its claim is ready", |it| it.done(12), GOES),
    ("that of another is", |it| it.done(11), WAITS),
    (
        "its claim is at an earlier wish",
        |it| {
            it.done(12);
            it.claim(12).revision = Some(EARLIER);
        },
        WAITS,
    ),
    ("its claim has not grown", |it| grows(it), WAITS),
    (
        "but for the file system, perhaps with the next Pod",
        |it| {
            grows(it);
            it.claim(12).on_the_node = true;
        },
        GOES,
    ),
    (
        "and the class is not the one",
        |it| {
            grows(it);
            (it.claim(12).on_the_node, it.claim(12).current_class) = (true, None);
        },
        WAITS,
    ),
    (
        "the node has something left to do for an earlier wish",
        |it| (it.claim(12).on_the_node, it.claim(12).revision) = (true, Some(EARLIER)),
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
            it.wanted.push(Wanted { size: 20, class: None });
            it.claims.push(claim(1, 12));
        },
        WAITS,
    ),
    (
        "both are",
        |it| {
            it.done(12);
            it.wanted.push(Wanted { size: 10, class: None });
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
    ("it is out of range", |it| it.set().replicas = 2, GOES),
    ("it is below the partition", |it| it.set().partition = 3, GOES),
    ("it is the first above", |it| it.set().partition = 2, WAITS),
    ("it is on its way out", |it| it.pod(12).going = true, GOES),
    ("it has ended", |it| it.pod(12).ended = true, GOES),
    ("somebody else takes it away", |it| it.pod(12).disrupted = true, GOES),
    ("it is not the set's", |it| it.pod(12).ours = false, GOES),
    ("it is not Ready", |it| it.pod(12).ready = false, WAITS),
    (
        "it runs what it is to run",
        |it| it.pod(12).revision = it.set().pod_revision,
        WAITS,
    ),
    ("nothing is wished", |it| it.set().target = None, GOES),
    ("Pods need not wait", |it| it.set().lock_step = false, GOES),
    ("the wish has been reached", |it| it.set().complete = true, GOES),
    ("the set is being deleted", |it| it.set().terminating = true, GOES),
    ("there is no set", |it| it.set = None, GOES),
];

fn grows(known: &mut Known) {
    known.done(12);
    known.claim(12).capacity = 19;
}

#[test]
fn s7_is_broken_by_a_pod_that_goes_too_early_or_waits_for_nothing() {
    for (sentence, change, goes) in ROWS {
        let mut known = waits();
        change(&mut known);
        let scene = known.scene();
        let expected: [&[Rule]; 2] = if *goes { [&[], &[S7]] } else { [&[S7], &[]] };
        let judged = [rules([s7_gate(&scene, 12)]), rules([s7_keeps_no_other(&scene, 12)])];
        assert_eq!(judged, expected, "{sentence}");
    }
}
