//! How far the storage has come with a claim, as its status says.

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
    /// `Pending`: a precondition is not met, such as a class that does not exist.
    Pending,
    /// `InProgress`
    InProgress,
    /// `Infeasible`
    Infeasible,
}

/// What a condition of a claim says went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The type of the condition.
    pub reason: String,
    /// Its message.
    pub message: String,
}

impl Resize {
    /// The status that is written so; nothing where none of these is.
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
    /// The status that is written so; nothing where none of these is.
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
    /// The types of the conditions that say so of an expansion, the last one to be written first: that of the controller stays
    /// until the node is done.
    pub const EXPANSION: [&str; 2] = ["NodeResizeError", "ControllerResizeError"];
    /// Those that say so of a change of the attributes class.
    pub const MODIFICATION: [&str; 1] = ["ModifyVolumeError"];

    /// True iff a condition of this type says that something went wrong.
    #[must_use]
    pub fn reports(kind: &str) -> bool {
        Self::EXPANSION.contains(&kind) || Self::MODIFICATION.contains(&kind)
    }
}
