//! Claims that need a Pod to make progress.

use super::expansion::{CONTROLLER, NODE, NOTHING, PvcStatus, put};
use super::{done, old_pods, unready};
use crate::rollout::fixtures::{state, web};
use crate::rollout::snapshot::{Resize, Snapshot};

/// The status and the errors of the highest claim, a change of its Pod, and the actions.
type Wait = (
    &'static str,
    Option<Resize>,
    &'static [&'static str],
    fn(&mut Snapshot),
    &'static str,
);

const PENDING: Option<Resize> = Some(Resize::NodePending);
const FAILED: Option<Resize> = Some(Resize::NodeInProgress);
const INFEASIBLE: Option<Resize> = Some(Resize::NodeInfeasible);

const WAITS: &[Wait] = &[
    (
        "its Pod is replaced, the node failed",
        FAILED,
        &[NODE],
        |web| old_pods(web, &[2, 1, 0]),
        "nudge 2",
    ),
    (
        "its Pod is replaced, the node reports infeasible",
        INFEASIBLE,
        &[NODE],
        |web| old_pods(web, &[2, 1, 0]),
        "nudge 2, ClaimExpansionFailed",
    ),
    ("its Pod stays", FAILED, &[NODE], |_| {}, ""),
    (
        "its Pod does not exist, a previous error",
        PENDING,
        &[CONTROLLER],
        without_pod,
        "grow 0",
    ),
    (
        "its Pod does not exist, the node failed",
        FAILED,
        &[NODE],
        without_pod,
        "grow 0",
    ),
    (
        "its Pod does not exist, the node reports infeasible",
        INFEASIBLE,
        &[NODE],
        without_pod,
        "grow 0, ClaimExpansionFailed",
    ),
    (
        "the controller reports infeasible",
        Some(Resize::ControllerInfeasible),
        &[CONTROLLER],
        without_pod,
        "grow 0, ClaimExpansionFailed",
    ),
];

/// The highest Pod is not created before the lowest Pod, whose disk is full, is Ready.
fn without_pod(web: &mut Snapshot) {
    web.pods.remove("web-2");
    unready(web, 0);
}

#[test]
fn claim_that_needs_a_pod_stops_no_other() {
    for (row, resize, errors, change, expected) in WAITS {
        let mut web = web();
        put(
            web.applied("data-web-2"),
            &PvcStatus {
                resize: *resize,
                errors,
                ..NOTHING
            },
        );
        change(&mut web);
        assert_eq!(done(&web), *expected, "{row}");
    }
}

#[test]
fn infeasible_node_without_a_pod_stops_no_other() {
    for (resize, pod, expected) in [
        (Resize::NodeInfeasible, false, "grow 1, ClaimExpansionFailed"),
        (Resize::NodeInfeasible, true, "ClaimExpansionFailed"),
        (Resize::ControllerInfeasible, false, "ClaimExpansionFailed"),
    ] {
        let mut web = web();
        web.applied("data-web-2").resize = Some(resize);
        if !pod {
            web.pods.remove("web-2");
        }
        assert_eq!(done(&web), expected, "{resize:?}, {pod}");
        assert_eq!(state(&web, "data-web-2").as_str(), "Infeasible");
    }
}
