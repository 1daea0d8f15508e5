//! The progress of an expansion: statuses show how far it is, and conditions show errors. Rows have the names of the
//! functions that write them, in `pkg/volume/util/operationexecutor/node_expander.go` and
//! `pkg/volume/util/resize_util.go` of Kubernetes 1.37.1, `pkg/controller/resize_status.go` and
//! `pkg/modifycontroller/modify_status.go` of external-resizer 2.3.0.

use super::done;
use crate::claims::Claim;
use crate::gate::PodManagement;
use crate::rollout::fixtures::{apply, gi, state, trouble, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Modify, Resize};

pub(super) const CONTROLLER: &str = "ControllerResizeError";
pub(super) const NODE: &str = "NodeResizeError";
const MODIFY: &str = "ModifyVolumeError";

/// The status of the highest claim: its size, its class, and errors in their order.
pub(super) struct PvcStatus {
    pub(super) resize: Option<Resize>,
    pub(super) pending: bool,
    pub(super) resizing: bool,
    pub(super) modify: Option<Option<Modify>>,
    pub(super) errors: &'static [&'static str],
}

pub(super) const NOTHING: PvcStatus = PvcStatus {
    resize: None,
    pending: false,
    resizing: false,
    modify: None,
    errors: &[],
};

/// The function that wrote the status; state, reason and message of the claim.
type Row = (&'static str, PvcStatus, &'static str);

const ROWS: &[Row] = &[
    (
        "markControllerResizeInProgress",
        PvcStatus {
            resize: Some(Resize::ControllerInProgress),
            resizing: true,
            ..NOTHING
        },
        "Expanding Resizing: capacity 1Gi of 2Gi",
    ),
    (
        "markControllerExpansionFailedCondition: Internal, tried again",
        PvcStatus {
            resize: Some(Resize::ControllerInProgress),
            resizing: true,
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver",
    ),
    (
        "the same, without a status",
        PvcStatus {
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Expanding ControllerResizeError: capacity 1Gi of 2Gi; ControllerResizeError of the driver",
    ),
    (
        "markControllerExpansionInfeasible: OutOfRange",
        PvcStatus {
            resize: Some(Resize::ControllerInfeasible),
            resizing: true,
            errors: &[CONTROLLER],
            ..NOTHING
        },
        "Infeasible ControllerResizeError: ControllerResizeError of the driver",
    ),
    (
        "markForPendingNodeExpansion",
        PvcStatus {
            resize: Some(Resize::NodePending),
            pending: true,
            resizing: true,
            ..NOTHING
        },
        "NodeExpanding FileSystemResizePending: capacity 1Gi of 2Gi",
    ),
    (
        "markForPendingNodeExpansion keeps a previous error",
        PvcStatus {
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
        PvcStatus {
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
        PvcStatus {
            resize: Some(Resize::NodeInProgress),
            pending: true,
            resizing: true,
            errors: &[CONTROLLER, NODE],
            ..NOTHING
        },
        "NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver",
    ),
    (
        "MarkForFSResize, before Kubernetes had a status for it",
        PvcStatus {
            pending: true,
            errors: &[NODE],
            ..NOTHING
        },
        "NodeExpanding NodeResizeError: capacity 1Gi of 2Gi; NodeResizeError of the driver",
    ),
    (
        "markControllerResizeInProgress, of another size",
        PvcStatus {
            resize: Some(Resize::ControllerInProgress),
            pending: true,
            resizing: true,
            ..NOTHING
        },
        "Expanding Resizing: capacity 1Gi of 2Gi",
    ),
    (
        "MarkNodeExpansionInfeasible: OutOfRange",
        PvcStatus {
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
        PvcStatus {
            modify: Some(Some(Modify::InProgress)),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver",
    ),
    (
        "markControllerModifyVolumeStatus: Pending keeps the conditions",
        PvcStatus {
            modify: Some(Some(Modify::Pending)),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast: the class may not exist; \
         ModifyVolumeError of the driver",
    ),
    (
        "the same, without a status",
        PvcStatus {
            modify: Some(None),
            errors: &[MODIFY],
            ..NOTHING
        },
        "Modifying ModifyVolumeError: attributes class none, expected fast; ModifyVolumeError of the driver",
    ),
    (
        "markControllerModifyVolumeStatus: Infeasible",
        PvcStatus {
            modify: Some(Some(Modify::Infeasible)),
            errors: &[CONTROLLER, MODIFY],
            ..NOTHING
        },
        "Infeasible ModifyVolumeError: ModifyVolumeError of the driver",
    ),
];

pub(super) fn put(claim: &mut Claim, status: &PvcStatus) {
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
fn status_is_the_state_and_error_is_the_message() {
    for (row, status, expected) in ROWS {
        let mut web = web();
        put(web.applied("data-web-2"), status);
        let progress = plan(&web).progress;
        let claim = &progress.claims[0];
        let found = format!("{} {}: {}", claim.state, claim.reason, claim.message);
        assert_eq!(found, *expected, "{row}");
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
type Earlier = (&'static str, fn(&mut Claim), &'static str, &'static str);

const EARLIER: &[Earlier] = &[
    (
        "9Gi was infeasible, 2Gi is requested now",
        |claim| (claim.resize, claim.allocated) = (Some(Resize::ControllerInfeasible), Some(gi(9))),
        "Applied",
        "",
    ),
    (
        "9Gi was infeasible on the node",
        |claim| (claim.resize, claim.allocated) = (Some(Resize::NodeInfeasible), Some(gi(9))),
        "Applied",
        "",
    ),
    (
        "2Gi is infeasible",
        |claim| (claim.resize, claim.allocated) = (Some(Resize::ControllerInfeasible), Some(gi(2))),
        "Infeasible",
        "ClaimExpansionFailed",
    ),
    (
        "the node has yet to finish 3Gi: the driver does not begin 2Gi before that",
        |claim| (claim.resize, claim.allocated) = (Some(Resize::NodePending), Some(gi(3))),
        "NodeExpanding",
        "",
    ),
    (
        "a class was infeasible and taken back; the volume grows",
        |claim| {
            (claim.modify, claim.modify_class) = (Some(Modify::Infeasible), Some("gold".to_owned()));
            claim.resize = Some(Resize::ControllerInProgress);
        },
        "Expanding",
        "",
    ),
    (
        "the same of a status without the class",
        |claim| {
            claim.modify = Some(Modify::Infeasible);
            claim.resizing = true;
        },
        "Expanding",
        "",
    ),
    (
        "another class is requested now",
        |claim| {
            (claim.modify, claim.modify_class) = (Some(Modify::Infeasible), Some("gold".to_owned()));
            (claim.class, claim.capacity) = (Some("fast".to_owned()), Some(gi(2)));
        },
        "Modifying",
        "",
    ),
    (
        "the class is infeasible while the volume grows",
        |claim| {
            (claim.modify, claim.modify_class) = (Some(Modify::Infeasible), Some("gold".to_owned()));
            (claim.class, claim.resizing) = (Some("gold".to_owned()), true);
        },
        "Infeasible",
        "ClaimExpansionFailed",
    ),
    (
        "somebody requests 9Gi, which is infeasible, and the template has 2Gi",
        |claim| {
            (claim.request, claim.allocated) = (gi(9), Some(gi(9)));
            (claim.resize, claim.capacity) = (Some(Resize::ControllerInfeasible), Some(gi(2)));
            (claim.class, claim.modify) = (Some("fast".to_owned()), Some(Modify::InProgress));
        },
        "Modifying",
        "",
    ),
];

#[test]
fn status_of_an_earlier_request_does_not_count() {
    for (row, status, expected, actions) in EARLIER {
        for management in [PodManagement::OrderedReady, PodManagement::Parallel] {
            let mut web = web();
            web.set.pod_management = management;
            status(web.applied("data-web-2"));
            assert_eq!(state(&web, "data-web-2").as_str(), *expected, "{row}");
            // With Parallel, an infeasible claim stops no other.
            let next = management == PodManagement::Parallel && *expected == "Infeasible";
            let actions = if next {
                format!("grow 1, {actions}")
            } else {
                (*actions).to_owned()
            };
            assert_eq!(done(&web), actions, "{row}");
        }
    }
}
