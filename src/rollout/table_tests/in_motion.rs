//! `claim-rollout.io/max-in-motion`: how many replicas are in motion at a time.

use super::{Row, check, middle, middle_of_pods, old_pods, unready};
use crate::gate::PodManagement;
use crate::rollout::fixtures::web;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::templates::{MaxInMotion, Ready, Strategy, Sync};

fn at_a_time(web: &mut Snapshot, number: u32) {
    web.set.max_in_motion = Some(MaxInMotion(number));
}

fn infeasible(web: &mut Snapshot, name: &str) {
    web.applied(name).resize = Some(Resize::ControllerInfeasible);
}

const CLAIMS: &[Row] = &[
    ("one by default", |_| {}, "grow 2"),
    ("two start", |web| at_a_time(web, 2), "grow 2, grow 1"),
    ("all start", |web| at_a_time(web, 1000), "grow 2, grow 1, grow 0"),
    (
        "one is in motion: one more starts",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
        },
        "grow 1",
    ),
    (
        "as many as may be are in motion",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
            web.applied("data-web-1").resizing = true;
        },
        "",
    ),
    (
        "a lower one is in motion since the limit was higher: it counts",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-0").resizing = true;
        },
        "grow 2",
    ),
    (
        "one is done: two more start",
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
        "one is in motion and its Pod is not Ready: it counts once",
        |web| {
            at_a_time(web, 2);
            web.applied("data-web-2").resizing = true;
            unready(web, 2);
        },
        "grow 1",
    ),
    (
        "all start, and the Pod of one is not Ready: each once",
        |web| {
            at_a_time(web, 1000);
            unready(web, 0);
        },
        "grow 0, grow 2, grow 1",
    ),
    (
        "one whose Pod is not Ready is stuck: the next such one does not start",
        |web| {
            at_a_time(web, 3);
            unready(web, 2);
            unready(web, 1);
            infeasible(web, "data-web-2");
        },
        "ClaimExpansionFailed",
    ),
    (
        "one that needs its Pod is stuck: no other starts",
        |web| {
            at_a_time(web, 3);
            unready(web, 0);
            web.applied("data-web-0").resize = Some(Resize::NodeInfeasible);
        },
        "ClaimExpansionFailed",
    ),
    (
        "one is stuck with OrderedReady: no other starts",
        |web| {
            at_a_time(web, 3);
            infeasible(web, "data-web-2");
        },
        "ClaimExpansionFailed",
    ),
    (
        "a lower one is stuck: those before it continue",
        |web| {
            at_a_time(web, 3);
            infeasible(web, "data-web-0");
        },
        "grow 2, grow 1, ClaimExpansionFailed",
    ),
    (
        "with Parallel, a stuck one does not count",
        |web| {
            at_a_time(web, 2);
            web.set.pod_management = PodManagement::Parallel;
            infeasible(web, "data-web-2");
        },
        "grow 1, grow 0, ClaimExpansionFailed",
    ),
    (
        "with Parallel, a stuck one whose Pod is not Ready does not count",
        |web| {
            at_a_time(web, 2);
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 2);
            infeasible(web, "data-web-2");
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
        "none starts while the rollout is paused",
        |web| {
            at_a_time(web, 3);
            web.set.paused = true;
        },
        "",
    ),
    (
        "with OnDelete a human chooses",
        |web| {
            at_a_time(web, 1);
            web.set.strategy = Strategy::OnDelete;
            web.previous.as_mut().unwrap().started = Some(0);
        },
        "grow 2, grow 1, grow 0",
    ),
];

#[test]
fn replicas_in_motion_stay_within_the_limit() {
    check(CLAIMS);
}

const NODES: &[Row] = &[
    (
        "with Recreate, the Pod is updated: its node is waited for",
        |web| {
            web.set.strategy = Strategy::Recreate;
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "",
    ),
    (
        "with Recreate, the Pod is outdated: its node continues later",
        |web| {
            web.set.strategy = Strategy::Recreate;
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 1",
    ),
    (
        "the node has work to do for the previous target",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 2",
    ),
    (
        "with Async, claims still wait",
        |web| {
            web.set.sync = Sync::Async;
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "",
    ),
];

#[test]
fn node_expansion_is_waited_for_unless_the_pod_changes() {
    check(NODES);
}

/// A change of the fixture, and the claim in the message.
type MessageRow = (&'static str, fn(&mut Snapshot), &'static str);

#[test]
fn message_names_the_first_claim_that_is_waited_for() {
    let rows: [MessageRow; 3] = [
        (
            "both are in motion",
            |web| {
                web.applied("data-web-2").resizing = true;
                web.applied("data-web-1").resizing = true;
            },
            "data-web-2 is Expanding",
        ),
        ("both are to start", |_| {}, "data-web-2 is Pending"),
        (
            "the first is not waited for",
            |web| {
                at_a_time(web, 1);
                unready(web, 2);
                unready(web, 1);
                web.claim("data-web-2").terminating = true;
            },
            "data-web-1 is Pending",
        ),
    ];
    for (row, change, named) in rows {
        let mut web = web();
        at_a_time(&mut web, 2);
        change(&mut web);
        let message = plan(&web).progress.reconciling.message;
        assert!(message.contains(named), "{row}: {message}");
    }
}

const PODS: &[Row] = &[
    (
        "claims of the next one follow while a Pod is replaced",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            at_a_time(web, 2);
        },
        "grow 1, nudge 2",
    ),
    (
        "with one at a time, they wait for the Pod",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
        },
        "nudge 2",
    ),
    (
        "the Pod is available: two more start",
        |web| {
            middle_of_pods(web);
            at_a_time(web, 2);
        },
        "grow 1, grow 0",
    ),
    (
        "two Pods may be replaced: the higher one is named",
        |web| {
            old_pods(web, &[2, 1, 0]);
            at_a_time(web, 2);
            web.done("data-web-2");
            web.done("data-web-1");
        },
        "nudge 2",
    ),
    (
        "with Parallel, the Pod of a stuck claim was replaced: the next Pod is waited for",
        |web| {
            web.set.pod_management = PodManagement::Parallel;
            old_pods(web, &[1, 0]);
            infeasible(web, "data-web-2");
            web.done("data-web-1");
        },
        "nudge 1, ClaimExpansionFailed",
    ),
    (
        "the gate lets the Pod of a stuck claim go: that Pod and the next are waited for",
        |web| {
            web.set.pod_management = PodManagement::Parallel;
            old_pods(web, &[2, 1, 0]);
            at_a_time(web, 2);
            web.applied("data-web-2").resize = Some(Resize::NodeInfeasible);
            web.done("data-web-1");
        },
        "nudge 2, ClaimExpansionFailed",
    ),
    (
        "the gate keeps the Pod of a stuck claim: no Pod is waited for",
        |web| {
            web.set.pod_management = PodManagement::Parallel;
            old_pods(web, &[2, 1, 0]);
            at_a_time(web, 2);
            infeasible(web, "data-web-2");
            web.done("data-web-1");
        },
        "grow 0, ClaimExpansionFailed",
    ),
    (
        "a paused rollout keeps the named Pod",
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
fn pod_to_be_replaced_counts_as_in_motion() {
    check(PODS);
}
