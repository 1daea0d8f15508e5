//! Which Pod the StatefulSet controller asks for next, and whose claims do not wait for it.

use super::{Row, check, middle, old_pods, unready};
use crate::rollout::snapshot::{PodManagement, Resize, Snapshot};
use crate::templates::Ready;

fn on_the_node(web: &mut Snapshot, ordinal: u32) {
    web.applied(&format!("data-web-{ordinal}")).resize = Some(Resize::NodePending);
}

fn named(web: &mut Snapshot, ordinal: u32) {
    let revision = web.target();
    web.set.ready = Some(Ready { revision, ordinal });
}

/// No Pod has been replaced, the claim of the highest is ready, and this was said.
fn said(web: &mut Snapshot) {
    middle(web);
    old_pods(web, &[2, 1, 0]);
    named(web, 2);
}

/// That of the lowest, whose Pod is not Ready, is ready as well.
fn said_of_one(web: &mut Snapshot) {
    said(web);
    web.done("data-web-0");
    unready(web, 0);
    web.set.pod_management = PodManagement::Parallel;
}

const NOT_READY: &[Row] = &[
    (
        "one waits for its node, and perhaps for the other: what is full is grown",
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
        "one is in the hands of the storage",
        |web| {
            web.applied("data-web-2").resizing = true;
            unready(web, 2);
            unready(web, 0);
        },
        "",
    ),
    (
        "those that are Ready wait for the node of one that is not, whichever is the higher one",
        |web| {
            on_the_node(web, 0);
            unready(web, 0);
        },
        "",
    ),
];

#[test]
fn pods_that_are_not_ready_do_not_wait_for_each_other() {
    check(NOT_READY);
}

const READY: &[Row] = &[
    ("it was said", said, ""),
    (
        "of another as well, which is asked for later",
        |web| {
            said(web);
            web.done("data-web-1");
        },
        "",
    ),
    ("of one that is not Ready, with Parallel before 1.37", said_of_one, ""),
    (
        "of one that is not Ready, which is asked for first since 1.37",
        |web| {
            said_of_one(web);
            web.set.max_unavailable = true;
        },
        "nudge 0",
    ),
    (
        "of one that is not available, likewise",
        |web| {
            said_of_one(web);
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
        "but with OrderedReady none is, until all are Ready",
        |web| {
            said_of_one(web);
            web.set.max_unavailable = true;
            web.set.pod_management = PodManagement::OrderedReady;
        },
        "",
    ),
    (
        "it has to wait again, whatever the status knows",
        |web| {
            said(web);
            web.set.status_is_current = false;
            web.claim("data-web-2").labels.remove(crate::templates::keys::REVISION);
        },
        "grow 2, nudge nobody",
    ),
    (
        "nothing is said of a claim that never had a volume",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").bound = false;
        },
        "",
    ),
    (
        "but of one that is deleted, which has kept its Pod",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.claim("data-web-2").terminating = true;
        },
        "nudge 2",
    ),
];

#[test]
fn what_became_ready_is_said_of_the_pod_that_is_asked_for() {
    check(READY);
}
