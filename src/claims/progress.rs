//! The progress of an expansion or modification in the status of a PVC.

/// `status.allocatedResourceStatuses.storage`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// `ControllerResizeInProgress`
    ControllerInProgress,
    /// `ControllerResizeInfeasible`
    ControllerInfeasible,
    /// `NodeResizePending`
    NodePending,
    /// `NodeResizeInProgress`
    NodeInProgress,
    /// `NodeResizeInfeasible`
    NodeInfeasible,
}

/// `status.modifyVolumeStatus.status`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modify {
    /// `Pending`: a precondition is not met; for example, the class does not exist.
    Pending,
    /// `InProgress`
    InProgress,
    /// `Infeasible`
    Infeasible,
}

/// An error in the conditions of a PVC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The type of the condition.
    pub reason: String,
    /// The message of the condition.
    pub message: String,
}

impl Resize {
    /// The value with this text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Some(match text {
            "ControllerResizeInProgress" => Self::ControllerInProgress,
            "ControllerResizeInfeasible" => Self::ControllerInfeasible,
            "NodeResizePending" => Self::NodePending,
            "NodeResizeInProgress" => Self::NodeInProgress,
            "NodeResizeInfeasible" => Self::NodeInfeasible,
            _ => return None,
        })
    }
}

impl Modify {
    /// The value with this text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Some(match text {
            "Pending" => Self::Pending,
            "InProgress" => Self::InProgress,
            "Infeasible" => Self::Infeasible,
            _ => return None,
        })
    }
}

impl Trouble {
    /// The conditions of a failed expansion, the latest one first: the one of the controller stays until the node has
    /// finished.
    pub const EXPANSION: [&str; 2] = ["NodeResizeError", "ControllerResizeError"];
    /// The conditions of a failed modification.
    pub const MODIFICATION: [&str; 1] = ["ModifyVolumeError"];

    /// True iff a condition of this type reports an error.
    #[must_use]
    pub fn reports(kind: &str) -> bool {
        Self::EXPANSION.contains(&kind) || Self::MODIFICATION.contains(&kind)
    }
}
