//! The Pod that the StatefulSet controller replaces next, and claims that do not wait for it.

use super::{Row, check, middle, old_pods, unready};
use crate::gate::PodManagement;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::templates::Ready;

fn on_the_node(web: &mut Snapshot, ordinal: u32) {
    web.applied(&format!("data-web-{ordinal}")).resize = Some(Resize::NodePending);
}

fn named(web: &mut Snapshot, ordinal: u32) {
    let revision = web.target();
    web.set.ready = Some(Ready { revision, ordinal });
}

/// No Pod has been replaced, the claim of the highest is ready, and the annotation names it.
fn named_highest(web: &mut Snapshot) {
    middle(web);
    old_pods(web, &[2, 1, 0]);
    named(web, 2);
}

/// The claim of the lowest is ready as well, and its Pod is not Ready.
fn lowest_unready(web: &mut Snapshot) {
    named_highest(web);
    web.done("data-web-0");
    unready(web, 0);
    web.set.pod_management = PodManagement::Parallel;
}

const NOT_READY: &[Row] = &[
    (
        "one waits for its node, and perhaps for the other: the full disk grows",
        |web| {
            on_the_node(web, 2);
            unready(web, 2);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "one waits for a volume, and perhaps for the other",
        |web| {
            web.claim("data-web-2").bound = false;
            unready(web, 2);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "the storage works on one",
        |web| {
            web.applied("data-web-2").resizing = true;
            unready(web, 2);
            unready(web, 0);
        },
        "",
    ),
    (
        "Ready replicas wait for the node of one that is not, even of a lower one",
        |web| {
            on_the_node(web, 0);
            unready(web, 0);
        },
        "",
    ),
];

#[test]
fn unready_pods_do_not_wait_for_each_other() {
    check(NOT_READY);
}

const READY: &[Row] = &[
    ("the annotation names it", named_highest, ""),
    (
        "the next claim is ready as well, and its Pod is replaced later",
        |web| {
            named_highest(web);
            web.done("data-web-1");
        },
        "",
    ),
    ("one is not Ready, with Parallel before 1.37", lowest_unready, ""),
    (
        "one is not Ready, and is replaced first since 1.37",
        |web| {
            lowest_unready(web);
            web.set.max_unavailable = true;
        },
        "nudge 0",
    ),
    (
        "one is not available, and is replaced first since 1.37",
        |web| {
            lowest_unready(web);
            web.set.max_unavailable = true;
            (
                web.set.min_ready_seconds,
                web.pods.get_mut("web-0").unwrap().ready_since,
            ) = (60, Some(990));
            web.pods.get_mut("web-1").unwrap().ready_since = Some(100);
            web.pods.get_mut("web-2").unwrap().ready_since = Some(100);
        },
        "nudge 0",
    ),
    (
        "with OrderedReady none is replaced until all are Ready",
        |web| {
            lowest_unready(web);
            web.set.max_unavailable = true;
            web.set.pod_management = PodManagement::OrderedReady;
        },
        "",
    ),
    (
        "its claim is outdated again, with an outdated status",
        |web| {
            named_highest(web);
            web.set.status_is_current = false;
            web.claim("data-web-2").labels.remove(crate::templates::keys::REVISION);
        },
        "grow 2, nudge none",
    ),
    (
        "a claim without a volume never kept its Pod",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").bound = false;
        },
        "",
    ),
    (
        "a claim that is being deleted may have kept its Pod",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").terminating = true;
        },
        "nudge 2",
    ),
];

#[test]
fn ready_names_the_pod_that_is_replaced_next() {
    check(READY);
}
