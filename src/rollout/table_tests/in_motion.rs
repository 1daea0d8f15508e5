//! How many replicas are in motion at a time: `claim-rollout.io/max-in-motion`.

use super::{Row, check, middle, middle_of_pods, old_pods, unready};
use crate::rollout::fixtures::web;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{PodManagement, Resize, Snapshot, Strategy};
use crate::templates::{MaxInMotion, Ready, Sync};

fn at_a_time(web: &mut Snapshot, number: u32) {
    web.set.max_in_motion = Some(MaxInMotion(number));
}

fn refused(web: &mut Snapshot, name: &str) {
    web.applied(name).resize = Some(Resize::ControllerInfeasible);
}

const CLAIMS: &[Row] = &[
    ("one by default", |_| {}, "grow 2"),
    ("two begin", |web| at_a_time(web, 2), "grow 2, grow 1"),
    ("all of them", |web| at_a_time(web, 1000), "grow 2, grow 1, grow 0"),
    (
        "one is on its way: one more begins",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
        },
        "grow 1",
    ),
    (
        "as many as may be are on their way",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
            web.applied("data-web-1").resizing = true;
        },
        "",
    ),
    (
        "a lower one is on its way, from when more might be: it counts",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-0").resizing = true;
        },
        "grow 2",
    ),
    (
        "one is done: two more begin",
        |web| {
            middle(web);
            at_a_time(web, 2);
        },
        "grow 1, grow 0",
    ),
    (
        "one whose Pod is not Ready comes first, and counts",
        |web| {
            at_a_time(web, 2);
            unready(web, 0);
        },
        "grow 0, grow 2",
    ),
    (
        "one is on its way whose Pod is not Ready: it counts once",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
            unready(web, 2);
        },
        "grow 1",
    ),
    (
        "all of them, one of which is not Ready: each once",
        |web| {
            at_a_time(web, 1000);
            unready(web, 0);
        },
        "grow 0, grow 2, grow 1",
    ),
    (
        "one whose Pod is not Ready is stuck: the next such one does not begin",
        |web| {
            at_a_time(web, 3);
            unready(web, 2);
            unready(web, 1);
            refused(web, "data-web-2");
        },
        "ClaimExpansionFailed",
    ),
    (
        "one is stuck that only its Pod could move on: nothing new begins",
        |web| {
            at_a_time(web, 3);
            unready(web, 0);
            web.applied("data-web-0").resize = Some(Resize::NodeInfeasible);
        },
        "ClaimExpansionFailed",
    ),
    (
        "one is stuck: nothing new begins with OrderedReady",
        |web| {
            at_a_time(web, 3);
            refused(web, "data-web-2");
        },
        "ClaimExpansionFailed",
    ),
    (
        "a lower one that had begun is stuck: those before it go on",
        |web| {
            at_a_time(web, 3);
            refused(web, "data-web-0");
        },
        "grow 2, grow 1, ClaimExpansionFailed",
    ),
    (
        "with Parallel what is stuck does not count",
        |web| {
            at_a_time(web, 2);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, "data-web-2");
        },
        "grow 1, grow 0, ClaimExpansionFailed",
    ),
    (
        "nor where its Pod is not Ready",
        |web| {
            at_a_time(web, 2);
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 2);
            refused(web, "data-web-2");
        },
        "grow 1, grow 0, ClaimExpansionFailed",
    ),
    (
        "those below the partition are left alone",
        |web| {
            at_a_time(web, 3);
            web.set.partition = 1;
        },
        "grow 2, grow 1",
    ),
    (
        "nothing begins while it is paused",
        |web| {
            at_a_time(web, 3);
            web.set.paused = true;
        },
        "",
    ),
    (
        "with OnDelete it is a human who chooses",
        |web| {
            at_a_time(web, 1);
            web.set.strategy = Strategy::OnDelete;
            web.previous.as_mut().unwrap().started = Some(0);
        },
        "grow 2, grow 1, grow 0",
    ),
];

#[test]
fn claims_of_so_many_replicas_are_in_motion_at_a_time() {
    check(CLAIMS);
}

const NODES: &[Row] = &[
    (
        "all Pods are deleted together, and this one is as it shall be: its node is waited for",
        |web| {
            web.set.strategy = Strategy::Recreate;
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "",
    ),
    (
        "all Pods are deleted together, this one as well: its node does the rest then",
        |web| {
            web.set.strategy = Strategy::Recreate;
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 1",
    ),
    (
        "it is to expand for an earlier wish: its Pod waits for this one",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 2",
    ),
    (
        "Pods do not wait, and claims do",
        |web| {
            web.set.sync = Sync::Async;
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "",
    ),
];

#[test]
fn a_node_that_is_to_expand_is_waited_for_where_pods_stay() {
    check(NODES);
}

/// What is on its way, and which claim users read about.
type Named = (&'static str, fn(&mut Snapshot), &'static str);

#[test]
fn users_read_of_the_first_one_that_is_waited_for() {
    let rows: [Named; 3] = [
        (
            "both are on their way",
            |web| {
                web.applied("data-web-2").resizing = true;
                web.applied("data-web-1").resizing = true;
            },
            "data-web-2 is Expanding",
        ),
        ("both are to begin", |_| {}, "data-web-2 is Pending"),
        (
            "of the first nobody waits for anything",
            |web| {
                at_a_time(web, 1);
                unready(web, 2);
                unready(web, 1);
                web.claim("data-web-2").terminating = true;
            },
            "data-web-1 is Pending",
        ),
    ];
    for (sentence, change, named) in rows {
        let mut web = web();
        at_a_time(&mut web, 2);
        change(&mut web);
        let message = plan(&web).progress.reconciling.message;
        assert!(message.contains(named), "{sentence}: {message}");
    }
}

const PODS: &[Row] = &[
    (
        "claims of the next one go on while a Pod is replaced",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            at_a_time(web, 2);
        },
        "grow 1, nudge 2",
    ),
    (
        "and wait for it as before with one at a time",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
        },
        "nudge 2",
    ),
    (
        "its Pod runs: two more begin",
        |web| {
            middle_of_pods(web);
            at_a_time(web, 2);
        },
        "grow 1, grow 0",
    ),
    (
        "two Pods wait for their claims: Kubernetes is told of the higher one",
        |web| {
            old_pods(web, &[2, 1, 0]);
            at_a_time(web, 2);
            web.done("data-web-2");
            web.done("data-web-1");
        },
        "nudge 2",
    ),
    (
        "with Parallel the Pod of what is stuck was replaced: the next Pod is waited for",
        |web| {
            web.set.pod_management = PodManagement::Parallel;
            old_pods(web, &[1, 0]);
            refused(web, "data-web-2");
            web.done("data-web-1");
        },
        "nudge 1, ClaimExpansionFailed",
    ),
    (
        "while it is paused a Pod that was named stays so",
        |web| {
            web.set.strategy = Strategy::Recreate;
            web.set.paused = true;
            old_pods(web, &[2, 1, 0]);
            let revision = web.target();
            web.set.ready = Some(Ready { revision, ordinal: 0 });
        },
        "",
    ),
    (
        "with Async no Pod is waited for",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            at_a_time(web, 2);
            web.set.sync = Sync::Async;
        },
        "grow 1, grow 0",
    ),
];

#[test]
fn a_pod_that_is_to_be_replaced_counts_as_in_motion() {
    check(PODS);
}
