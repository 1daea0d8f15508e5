//! `claim-rollout.io/max-in-motion`: how many replicas are in motion at a time.

use super::words::{act, common};
use super::{check, check_with};
use crate::rollout::fixtures::web;
use crate::rollout::plan::plan;

const CLAIMS: &str = "
    two start                                       | at a time 2                | grow 2, grow 1
    all start                                       | at a time 1000             | grow 2, grow 1, grow 0
    one is in motion: one more starts               | at a time 2, expanding 2   | grow 1
    as many as may be are in motion                 | at a time 2, expanding 2 1 |
    a lower one is in motion since the limit was higher: it counts | at a time 2, expanding 0 | grow 2
    one is done: two more start                     | done 2, at a time 2        | grow 1, grow 0
    one whose Pod is not Ready comes first, and counts | at a time 2, unready 0 | grow 0, grow 2
    one is in motion and its Pod is not Ready: it counts once | at a time 2, expanding 2, unready 2 | grow 1
    all start, and the Pod of one is not Ready: each once | at a time 1000, unready 0 | grow 0, grow 2, grow 1
    one whose Pod is not Ready is stuck: the next such one does not start | at a time 3, unready 2 1, infeasible 2 \
        | ClaimExpansionFailed
    one that needs its Pod is stuck: no other starts | at a time 3, unready 0, node infeasible 0 \
        | ClaimExpansionFailed
    one is stuck with OrderedReady: no other starts | at a time 3, infeasible 2  | ClaimExpansionFailed
    a lower one is stuck: those before it continue  | at a time 3, infeasible 0  | grow 2, grow 1, ClaimExpansionFailed
    with Parallel, a stuck one does not count | at a time 2, Parallel, infeasible 2 \
        | grow 1, grow 0, ClaimExpansionFailed
    with Parallel, a stuck one whose Pod is not Ready does not count | at a time 2, Parallel, unready 2, infeasible 2 \
        | grow 1, grow 0, ClaimExpansionFailed
    those below the partition are left alone        | at a time 3, partition 1   | grow 2, grow 1
    none starts while the rollout is paused         | at a time 3, paused        |
    with OnDelete a human chooses | at a time 1, OnDelete, started long ago | grow 2, grow 1, grow 0
";

#[test]
fn replicas_in_motion_stay_within_the_limit() {
    check_with(web, CLAIMS, |web, word, numbers| match word {
        "started long ago" => web.previous.as_mut().unwrap().started = Some(0),
        _ => common(web, word, numbers),
    });
}

const NODES: &str = "
    with Recreate, the Pod is updated: its node is waited for    | Recreate, node pending 2            |
    with Recreate, the Pod is outdated: its node continues later | Recreate, old 2 1 0, node pending 2 | grow 1
    the node has work to do for the previous target              | old 2 1 0, NodeResizePending 2      | grow 2
    with Async, claims still wait                                | Async, old 2 1 0, node pending 2    |
";

#[test]
fn node_expansion_is_waited_for_unless_the_pod_changes() {
    check(NODES);
}

#[test]
fn message_names_the_first_claim_that_is_waited_for() {
    for (row, change, named) in [
        ("both are in motion", "expanding 2 1", "data-web-2 is Expanding"),
        ("both are to start", "", "data-web-2 is Pending"),
        (
            "the first is not waited for",
            "at a time 1, unready 2 1, terminating 2",
            "data-web-1 is Pending",
        ),
    ] {
        let mut web = web();
        act(&mut web, "at a time 2", common);
        act(&mut web, change, common);
        let message = plan(&web).progress.reconciling.message;
        assert!(message.contains(named), "{row}: {message}");
    }
}

const PODS: &str = "
    claims of the next one follow while a Pod is replaced | done 2, old 2 1 0, at a time 2        | grow 1, nudge 2
    the Pod is available: two more start                  | done 2, old 1 0, at a time 2          | grow 1, grow 0
    two Pods may be replaced: the higher one is named     | old 2 1 0, at a time 2, done 2 1      | nudge 2
    with Parallel, the Pod of a stuck claim was replaced: the next Pod is waited for \
        | Parallel, old 1 0, infeasible 2, done 1 | nudge 1, ClaimExpansionFailed
    the gate lets the Pod of a stuck claim go: that Pod and the next are waited for \
        | Parallel, old 2 1 0, at a time 2, node infeasible 2, done 1 | nudge 2, ClaimExpansionFailed
    the gate keeps the Pod of a stuck claim: no Pod is waited for \
        | Parallel, old 2 1 0, at a time 2, infeasible 2, done 1 | grow 0, ClaimExpansionFailed
    a paused rollout keeps the named Pod                  | Recreate, paused, old 2 1 0, named 0  |
    with Async no Pod is waited for                       | done 2, old 2 1 0, at a time 2, Async | grow 1, grow 0
";

#[test]
fn pod_to_be_replaced_counts_as_in_motion() {
    check(PODS);
}
