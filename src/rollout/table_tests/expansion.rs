//! The truth about an expansion: statuses say how far it has come, and conditions what went wrong on the way. Rows are named
//! after what writes them: `pkg/volume/util/operationexecutor/node_expander.go` and `pkg/volume/util/resize_util.go` of
//! Kubernetes 1.37.1, `pkg/controller/resize_status.go` and `pkg/modifycontroller/modify_status.go` of external-resizer 2.3.0.

use super::{done, old_pods, unready};
use crate::claims::Claim;
use crate::rollout::fixtures::{apply, state, trouble, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Modify, PodManagement, Resize, Snapshot};

const CONTROLLER: &str = "ControllerResizeError";
const NODE: &str = "NodeResizeError";
const MODIFY: &str = "ModifyVolumeError";

/// What the status of the claim of the highest replica says: its size, its class, errors in their order.
struct Status {
    resize: Option<Resize>,
    pending: bool,
    resizing: bool,
    modify: Option<Option<Modify>>,
    errors: &'static [&'static str],
}

const NOTHING: Status = Status {
    resize: None,
    pending: false,
    resizing: false,
    modify: None,
    errors: &[],
};

/// Who wrote what; state, reason and message of the claim.
type Row = (&'static str, Status, &'static str);

const ROWS: &[Row] = &[
    (
        "markControllerResizeInProgress",
        Status {
            resize: Some(Resize::ControllerInProgress),
            resizing: true,
            ..NOTHING
        },
        "Expanding Resizing: capacity 1Gi of 2Gi",
    ),
    (
        "markControllerExpansionFailedCondition: Internal, tried again",
        Status {
            resize: Some(Resize::ControllerInProgress),
            resizing: true,
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver",
    ),
    (
        "the same, where nobody writes a status",
        Status {
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver",
    ),
    (
        "markControllerExpansionInfeasible: OutOfRange",
        Status {
            resize: Some(Resize::ControllerInfeasible),
            resizing: true,
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Infeasible ControllerResizeError: ControllerResizeError of the driver",
    ),
    (
        "markForPendingNodeExpansion",
        Status {
            resize: Some(Resize::NodePending),
            pending: true,
            resizing: true,
            ..NOTHING
        },
        "NodeExpanding FileSystemResizePending: capacity 1Gi of 2Gi",
    ),
    (
        "markForPendingNodeExpansion, which keeps an error of before",
        Status {
            resize: Some(Resize::NodePending),
            pending: true,
            resizing: true,
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "NodeExpanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver",
    ),
    (
        "MarkNodeExpansionFailedCondition: FailedPrecondition, a remount",
        Status {
            resize: Some(Resize::NodeInProgress),
            pending: true,
            resizing: true,
            errors: &[NODE],
            ..NOTHING
        },
        "NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver",
    ),
    (
        "the same after an error of the controller: the last one counts",
        Status {
            resize: Some(Resize::NodeInProgress),
            pending: true,
            resizing: true,
            errors: &[CONTROLLER, NODE],
            ..NOTHING
        },
        "NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver",
    ),
    (
        "MarkForFSResize, from before there was a status for it",
        Status {
            pending: true,
            errors: &[NODE],
            ..NOTHING
        },
        "NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver",
    ),
    (
        "markControllerResizeInProgress, of another size",
        Status {
            resize: Some(Resize::ControllerInProgress),
            pending: true,
            resizing: true,
            ..NOTHING
        },
        "Expanding Resizing: capacity 1Gi of 2Gi",
    ),
    (
        "MarkNodeExpansionInfeasible: OutOfRange",
        Status {
            resize: Some(Resize::NodeInfeasible),
            pending: true,
            resizing: true,
            errors: &[CONTROLLER, NODE],
            ..NOTHING
        },
        "Infeasible NodeResizeError: NodeResizeError of the driver",
    ),
    (
        "markControllerModifyVolumeStatus: InProgress, tried again",
        Status {
            modify: Some(Some(Modify::InProgress)),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver",
    ),
    (
        "markControllerModifyVolumeStatus: Pending keeps the conditions",
        Status {
            modify: Some(Some(Modify::Pending)),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast: it waits, perhaps for that class to exist; \
         ModifyVolumeError of the driver",
    ),
    (
        "the same, where nobody writes a status",
        Status {
            modify: Some(None),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver",
    ),
    (
        "markControllerModifyVolumeStatus: Infeasible",
        Status {
            modify: Some(Some(Modify::Infeasible)),
            errors: &[CONTROLLER, MODIFY],
            ..NOTHING
        },
        "Infeasible ModifyVolumeError: ModifyVolumeError of the driver",
    ),
];

fn put(claim: &mut Claim, status: &Status) {
    claim.resize = status.resize;
    claim.file_system_resize_pending = status.pending.then(String::new);
    claim.resizing = status.resizing;
    claim.troubles = status.errors.iter().map(|kind| trouble(kind)).collect();
    if let Some(modify) = status.modify {
        (claim.class, claim.modify) = (Some("fast".to_owned()), modify);
        claim.capacity = Some(claim.request);
    }
}

#[test]
fn errors_are_messages_of_what_the_statuses_say() {
    for (row, status, expected) in ROWS {
        let mut web = web();
        put(web.applied("data-web-2"), status);
        let progress = plan(&web).progress;
        let claim = &progress.claims[0];
        let found = format!("{} {}: {}", claim.state, claim.reason, claim.message);
        assert_eq!(found, *expected, "{row}");
        // Nobody has to do anything about what is tried again, and nobody is told; the condition quotes it.
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

/// What is the matter with the node of the highest replica, its Pod, and what is done.
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
        "its Pod is replaced, the node never will",
        INFEASIBLE,
        &[NODE],
        |web| old_pods(web, &[2, 1, 0]),
        "nudge 2, ClaimExpansionFailed",
    ),
    ("its Pod stays", FAILED, &[NODE], |_| {}, ""),
    (
        "its Pod is gone, an error of before",
        PENDING,
        &[CONTROLLER],
        gone,
        "grow 0",
    ),
    ("its Pod is gone, the node failed", FAILED, &[NODE], gone, "grow 0"),
    (
        "its Pod is gone, the node never will",
        INFEASIBLE,
        &[NODE],
        gone,
        "grow 0, ClaimExpansionFailed",
    ),
    (
        "the controller never will",
        Some(Resize::ControllerInfeasible),
        &[CONTROLLER],
        gone,
        "grow 0, ClaimExpansionFailed",
    ),
];

/// The Pod of the highest replica waits for the lowest one, whose disk is full.
fn gone(web: &mut Snapshot) {
    web.pods.remove("web-2");
    unready(web, 0);
}

#[test]
fn claim_that_only_a_pod_moves_on_stops_nobody() {
    for (row, resize, errors, change, expected) in WAITS {
        let mut web = web();
        put(
            web.applied("data-web-2"),
            &Status {
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
fn infeasible_node_lets_the_next_pass_while_there_is_no_pod() {
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
