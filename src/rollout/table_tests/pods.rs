//! Claims and Pods: what the next claim waits for, and which Pod is named.

use super::{Row, all_done, check, done, middle, middle_of_pods, old_pods, unready};
use crate::gate::PodManagement;
use crate::rollout::fixtures::{refused, web};
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::templates::{Phase, Ready, Revision, Strategy, Sync};

const PODS: &[Row] = &[
    (
        "a Pod that does not become Ready stops the next replica",
        |web| {
            middle_of_pods(web);
            unready(web, 2);
        },
        "",
    ),
    (
        "the claim of a Pod that is not Ready comes first, because its disk may be full",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            unready(web, 0);
        },
        "grow 0, nudge 2",
    ),
    (
        "also with an outdated status",
        |web| {
            middle_of_pods(web);
            web.set.status_is_current = false;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "also if a higher Pod is being created",
        |web| {
            middle_of_pods(web);
            web.pods.remove("web-2");
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "with an outdated status all other claims wait, because their Pods may be about to change",
        |web| {
            middle(web);
            web.set.status_is_current = false;
        },
        "",
    ),
    (
        "when that Pod is Ready again, the order is as before",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            web.done("data-web-0");
        },
        "nudge 2",
    ),
    (
        "not if its claim is below the partition",
        |web| {
            middle_of_pods(web);
            web.set.partition = 1;
            unready(web, 0);
        },
        "grow 1",
    ),
    (
        "also with Parallel",
        |web| {
            middle_of_pods(web);
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "a claim in motion is finished before it",
        |web| {
            web.applied("data-web-2");
            unready(web, 0);
        },
        "",
    ),
    (
        "not if only the node has work to do, which may wait for a Pod",
        |web| {
            web.applied("data-web-2").resize = Some(Resize::NodePending);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "no Pod is waited for if only claims change",
        |web| {
            middle(web);
            unready(web, 2);
        },
        "grow 1",
    ),
    (
        "a Pod must be Ready for minReadySeconds",
        |web| {
            middle_of_pods(web);
            web.set.min_ready_seconds = 200;
        },
        "",
    ),
    (
        "minReadySeconds do not matter if only claims change",
        |web| {
            middle(web);
            web.set.min_ready_seconds = 200;
        },
        "grow 1",
    ),
    (
        "a Pod that is being deleted is not Ready",
        |web| {
            middle_of_pods(web);
            let pod = web.pods.get_mut("web-2").unwrap();
            (pod.deleted, pod.ready_since) = (Some(1030), None);
        },
        "",
    ),
    (
        "a Pod that is being deleted cannot finish the file system, so the next claim follows",
        |web| {
            web.applied("data-web-2").file_system_resize_pending = Some(String::new());
            web.pods.get_mut("web-2").unwrap().deleted = Some(1030);
        },
        "grow 1",
    ),
    (
        "the rollout is paused in the middle",
        |web| {
            middle_of_pods(web);
            web.set.paused = true;
        },
        "",
    ),
    (
        "the rollout is complete although Pods are outdated: the gate is open",
        |web| {
            all_done(web);
            old_pods(web, &[0]);
            web.phase(Phase::Complete);
        },
        "ClaimRolloutComplete",
    ),
    (
        "with Parallel, claims below a stuck one continue, and no Pod is waited for",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.done("data-web-1");
        },
        "grow 0, FailedToPatchPVC",
    ),
    (
        "with Parallel, claims below a stuck one follow one after the other",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.applied("data-web-1");
        },
        "FailedToPatchPVC",
    ),
];

#[test]
fn claims_wait_for_pods_that_change() {
    check(PODS);
}

/// The highest claim is ready, and all Pods are to be replaced.
fn waiting(web: &mut Snapshot) {
    middle(web);
    old_pods(web, &[2, 1, 0]);
}

fn named(web: &mut Snapshot, revision: Revision, ordinal: u32) {
    web.set.ready = Some(Ready { revision, ordinal });
}

const NUDGES: &[Row] = &[
    ("a Pod waited, and its claims are ready", waiting, "nudge 2"),
    (
        "the Pod was named",
        |web| {
            waiting(web);
            named(web, web.target(), 2);
        },
        "",
    ),
    (
        "the Pod was named in a previous rollout",
        |web| {
            waiting(web);
            named(web, Revision::from_text("another"), 2);
        },
        "nudge 2",
    ),
    (
        "its claims are no longer ready: the annotation is removed",
        |web| {
            old_pods(web, &[2, 1, 0]);
            named(web, web.target(), 2);
        },
        "grow 2, nudge none",
    ),
    (
        "the named Pod was replaced: the annotation stays",
        |web| {
            middle_of_pods(web);
            named(web, web.target(), 2);
        },
        "grow 1",
    ),
    (
        "only the node has work to do, perhaps when a Pod mounts the volume",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "nudge 2",
    ),
    (
        "Pods do not wait for claims",
        |web| {
            waiting(web);
            web.set.sync = Sync::Async;
        },
        "grow 1",
    ),
    (
        "the rollout is paused: the gate is closed",
        |web| {
            waiting(web);
            web.set.paused = true;
        },
        "",
    ),
    (
        "no Pod below the partition is named",
        |web| {
            waiting(web);
            web.set.partition = 3;
        },
        "",
    ),
    (
        "with Parallel, Kubernetes replaces Pods that are not Ready first, since 1.37",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            web.set.max_unavailable = true;
            unready(web, 0);
            web.done("data-web-0");
        },
        "grow 2, nudge 0",
    ),
    (
        "with OrderedReady, Kubernetes replaces no Pod while one is not Ready",
        |web| {
            old_pods(web, &[2, 1, 0]);
            unready(web, 0);
            web.done("data-web-0");
        },
        "grow 2",
    ),
    (
        "the last claim: the phase changes the StatefulSet as well",
        |web| {
            all_done(web);
            old_pods(web, &[0]);
        },
        "complete",
    ),
];

#[test]
fn ready_names_a_pod_whose_claims_became_ready() {
    check(NUDGES);
}

const RECREATE: &[Row] = &[
    ("one claim after the other, and no Pod is waited for", waiting, "grow 1"),
    (
        "a claim that needs a Pod does not stop the next one",
        |web| {
            waiting(web);
            web.applied("data-web-1").resize = Some(Resize::NodePending);
        },
        "grow 0",
    ),
    (
        "all Pods may be deleted",
        |web| {
            waiting(web);
            web.done("data-web-0");
            web.applied("data-web-1").resize = Some(Resize::NodePending);
        },
        "nudge 0",
    ),
    (
        "no longer all Pods may be deleted",
        |web| {
            waiting(web);
            web.done("data-web-0");
            named(web, web.target(), 0);
        },
        "grow 1, nudge none",
    ),
    (
        "the partition does not matter",
        |web| (waiting(web), web.set.partition = 3).1,
        "grow 1",
    ),
];

#[test]
fn recreate_names_a_pod_when_all_claims_are_ready() {
    for (row, change, expected) in RECREATE {
        let mut web = web();
        web.set.strategy = Strategy::Recreate;
        change(&mut web);
        assert_eq!(done(&web), *expected, "{row}");
    }
}
