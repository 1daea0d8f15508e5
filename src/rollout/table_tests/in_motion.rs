//! How many replicas are in motion at a time: `claim-rollout.io/max-in-motion`.

use super::{Row, check, middle, middle_of_pods, old_pods, unready};
use crate::rollout::snapshot::{PodManagement, Snapshot, Strategy};
use crate::templates::{MaxInMotion, Sync};

fn at_a_time(web: &mut Snapshot, number: u32) {
    web.set.max_in_motion = Some(MaxInMotion(number));
}

fn refused(web: &mut Snapshot, name: &str) {
    web.applied(name).resize = Some(crate::claims::progress::Resize::ControllerInfeasible);
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
            web.earlier.as_mut().unwrap().started = Some(0);
        },
        "grow 2, grow 1, grow 0",
    ),
];

#[test]
fn claims_of_so_many_replicas_are_in_motion_at_a_time() {
    check(CLAIMS);
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
