//! The progress of an expansion: statuses show how far it is, and conditions show errors. Rows have the names of the
//! functions that write them, in `pkg/volume/util/operationexecutor/node_expander.go` and
//! `pkg/volume/util/resize_util.go` of Kubernetes 1.37.1, `pkg/controller/resize_status.go` and
//! `pkg/modifycontroller/modify_status.go` of external-resizer 2.3.0.

use super::done;
use super::words::{act, common, of_a_status};
use crate::gate::PodManagement;
use crate::rollout::fixtures::{apply, rows, state, trouble, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;

/// Puts the status into the highest claim: words of its fields, and errors in their order.
pub(super) fn put(web: &mut Snapshot, status: &str) {
    act(web, status, |web, word, _| {
        let claim = web.applied("data-web-2");
        match word {
            "ControllerResizeError" | "NodeResizeError" | "ModifyVolumeError" => claim.troubles.push(trouble(word)),
            // The class is asked for, and the size is reached.
            "fast" => (claim.class, claim.capacity) = (Some("fast".to_owned()), Some(claim.request)),
            _ => of_a_status(claim, word),
        }
    });
}

/// The function that wrote the status; state, reason and message of the claim.
const ROWS: &str = "
    markControllerResizeInProgress | ControllerResizeInProgress, resizing | Expanding Resizing: capacity 1Gi of 2Gi
    markControllerExpansionFailedCondition: Internal, tried again \
        | ControllerResizeInProgress, resizing, ControllerResizeError \
        | Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver
    the same, without a status | ControllerResizeError \
        | Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver
    markControllerExpansionInfeasible: OutOfRange | ControllerResizeInfeasible, resizing, ControllerResizeError \
        | Infeasible ControllerResizeError: ControllerResizeError of the driver
    markForPendingNodeExpansion | NodeResizePending, file system pending, resizing \
        | NodeExpanding FileSystemResizePending: capacity 1Gi of 2Gi
    markForPendingNodeExpansion keeps a previous error \
        | NodeResizePending, file system pending, resizing, ControllerResizeError \
        | NodeExpanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver
    MarkNodeExpansionFailedCondition: FailedPrecondition, a remount \
        | NodeResizeInProgress, file system pending, resizing, NodeResizeError \
        | NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver
    the same after an error of the controller: the last one counts \
        | NodeResizeInProgress, file system pending, resizing, ControllerResizeError, NodeResizeError \
        | NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver
    MarkForFSResize, before Kubernetes had a status for it | file system pending, NodeResizeError \
        | NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver
    markControllerResizeInProgress, of another size | ControllerResizeInProgress, file system pending, resizing \
        | Expanding Resizing: capacity 1Gi of 2Gi
    MarkNodeExpansionInfeasible: OutOfRange \
        | NodeResizeInfeasible, file system pending, resizing, ControllerResizeError, NodeResizeError \
        | Infeasible NodeResizeError: NodeResizeError of the driver
    markControllerModifyVolumeStatus: InProgress, tried again | fast, modify InProgress, ModifyVolumeError \
        | Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver
    markControllerModifyVolumeStatus: Pending keeps the conditions | fast, modify Pending, ModifyVolumeError \
        | Modifying ModifyVolumeError: attributes class none, expected fast: the class may not exist; \
            ModifyVolumeError of the driver
    the same, without a status | fast, ModifyVolumeError \
        | Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver
    markControllerModifyVolumeStatus: Infeasible | fast, modify Infeasible, ControllerResizeError, ModifyVolumeError \
        | Infeasible ModifyVolumeError: ModifyVolumeError of the driver
";

#[test]
fn status_is_the_state_and_error_is_the_message() {
    for [row, status, expected] in rows(ROWS) {
        let mut web = web();
        put(&mut web, status);
        let progress = plan(&web).progress;
        let claim = &progress.claims[0];
        let found = format!("{} {}: {}", claim.state, claim.reason, claim.message);
        assert_eq!(found, expected, "{row}");
        // An error that is retried does not stall the rollout and emits no Event; the condition quotes it.
        let infeasible = expected.starts_with("Infeasible");
        assert_eq!(progress.stalled.holds, infeasible, "{row}");
        let events = if infeasible { "ClaimExpansionFailed" } else { "" };
        assert_eq!(done(&web), events, "{row}");
        assert!(progress.ready.message.contains(&claim.message), "{row}");
        // With Parallel, too, one claim is in motion at a time.
        web.set.pod_management = PodManagement::Parallel;
        assert_eq!(writes(&web).contains(&apply(&web, 1)), infeasible, "{row}");
    }
}

/// A status of an earlier request, the state of the claim, and the actions.
const EARLIER: &str = "
    9Gi was infeasible, 2Gi is requested now | ControllerResizeInfeasible 2, allocated 2 9 | Applied |
    9Gi was infeasible on the node | NodeResizeInfeasible 2, allocated 2 9 | Applied |
    2Gi is infeasible | ControllerResizeInfeasible 2, allocated 2 2 | Infeasible | ClaimExpansionFailed
    the node has yet to finish 3Gi: the driver does not begin 2Gi before that | NodeResizePending 2, allocated 2 3 \
        | NodeExpanding |
    a class was infeasible and taken back; the volume grows \
        | modify Infeasible 2, modify class gold 2, ControllerResizeInProgress 2 | Expanding |
    the same of a status without the class | modify Infeasible 2, resizing 2 | Expanding |
    another class is requested now | modify Infeasible 2, modify class gold 2, class fast 2, capacity 2 2 | Modifying |
    the class is infeasible while the volume grows \
        | modify Infeasible 2, modify class gold 2, class gold 2, resizing 2 | Infeasible | ClaimExpansionFailed
    somebody requests 9Gi, which is infeasible, and the template has 2Gi \
        | request 2 9, allocated 2 9, ControllerResizeInfeasible 2, capacity 2 2, class fast 2, modify InProgress 2 \
        | Modifying |
";

#[test]
fn status_of_an_earlier_request_does_not_count() {
    for [row, status, expected, actions] in rows(EARLIER) {
        for management in [PodManagement::OrderedReady, PodManagement::Parallel] {
            let mut web = web();
            web.set.pod_management = management;
            act(&mut web, &format!("applied 2, {status}"), common);
            assert_eq!(state(&web, "data-web-2").as_str(), expected, "{row}");
            // With Parallel, an infeasible claim stops no other.
            let next = management == PodManagement::Parallel && expected == "Infeasible";
            let actions = if next {
                format!("grow 1, {actions}")
            } else {
                actions.to_owned()
            };
            assert_eq!(done(&web), actions, "{row}");
        }
    }
}
