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
    /// The types of the conditions that say so.
    pub const CONDITIONS: [&str; 3] = ["ControllerResizeError", "NodeResizeError", "ModifyVolumeError"];
}
