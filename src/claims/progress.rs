//! The progress of an expansion or modification in the status of a PVC.

use crate::templates::words::words;

words! {
    /// `status.allocatedResourceStatuses.storage`
    pub enum Resize {
        /// The controller expands the volume.
        ControllerInProgress = "ControllerResizeInProgress",
        /// The controller cannot expand the volume.
        ControllerInfeasible = "ControllerResizeInfeasible",
        /// The node has to expand the file system.
        NodePending = "NodeResizePending",
        /// The node expands the file system.
        NodeInProgress = "NodeResizeInProgress",
        /// The node cannot expand the file system.
        NodeInfeasible = "NodeResizeInfeasible",
    }
}

words! {
    /// `status.modifyVolumeStatus.status`
    pub enum Modify {
        /// A precondition is not met; for example, the class does not exist.
        Pending,
        /// The driver changes the attributes.
        InProgress,
        /// The driver cannot change the attributes.
        Infeasible,
    }
}

/// An error in the conditions of a PVC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The type of the condition.
    pub reason: String,
    /// The message of the condition.
    pub message: String,
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
