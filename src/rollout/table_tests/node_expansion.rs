//! Claims that need a Pod to make progress.

use super::done;
use super::expansion::put;
use super::words::{act, common};
use crate::rollout::fixtures::{rows, state, web};
use crate::rollout::snapshot::Resize;

/// The status and the errors of the highest claim, a change of its Pod, and the actions.
const WAITS: &str = "
    its Pod is replaced, the node failed | NodeResizeInProgress, NodeResizeError | old 2 1 0 | nudge 2
    its Pod is replaced, the node reports infeasible | NodeResizeInfeasible, NodeResizeError | old 2 1 0 \
        | nudge 2, ClaimExpansionFailed
    its Pod stays | NodeResizeInProgress, NodeResizeError | |
    // The highest Pod is not created before the lowest Pod, whose disk is full, is Ready.
    its Pod does not exist, a previous error | NodeResizePending, ControllerResizeError | no Pod 2, unready 0 | grow 0
    its Pod does not exist, the node failed | NodeResizeInProgress, NodeResizeError | no Pod 2, unready 0 | grow 0
    its Pod does not exist, the node reports infeasible | NodeResizeInfeasible, NodeResizeError | no Pod 2, unready 0 \
        | grow 0, ClaimExpansionFailed
    the controller reports infeasible | ControllerResizeInfeasible, ControllerResizeError | no Pod 2, unready 0 \
        | grow 0, ClaimExpansionFailed
";

#[test]
fn claim_that_needs_a_pod_stops_no_other() {
    for [row, status, change, expected] in rows(WAITS) {
        let mut web = web();
        put(&mut web, status);
        act(&mut web, change, common);
        assert_eq!(done(&web), expected, "{row}");
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
