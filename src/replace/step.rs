//! The output of the decision: the next step, as a value.

use serde::Serialize;
use serde_json::Value;

use super::journal::{Journal, Millis};
use super::live::LiveSet;
use crate::api::ReplacementReason;
pub use crate::api::SetVersion;

/// The parts of the world that are read only if they are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`CheckResults::guarded`](super::world::CheckResults::guarded)
    Guard,
    /// [`World::dependents`](super::World::dependents), by reads that are not served from a cache.
    Dependents,
    /// [`CheckResults::quotas`](super::world::CheckResults::quotas)
    Quotas,
    /// [`CheckResults::dry_runs`](super::world::CheckResults::dry_runs)
    DryRuns,
    /// [`World::namespace`](super::World::namespace)
    Namespace,
    /// [`World::last_version`](super::World::last_version)
    LastVersion,
}

/// The next step of a replacement. Every write names the uid, and the resourceVersion where it depends on it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Read this part of the world, and decide again.
    Read(Part),
    /// Write the journal, if it still is as it was read.
    WriteJournal(Box<Journal>),
    /// Remove the owner of the ClaimRollout, so that the garbage collector cannot delete it.
    DisownReport,
    /// Add our finalizer, and set `whenDeleted` to `Retain`.
    Mark(SetVersion),
    /// Delete the old set without its dependents.
    Delete {
        /// The uid.
        uid: String,
        /// The resourceVersion that the preconditions were checked for. None once the set is being deleted.
        resource_version: Option<String>,
    },
    /// Update the old set without our finalizer: it does not exist any more when the API server answers.
    LetGo(Value),
    /// Create the new set.
    Create(Value),
    /// Give the set that somebody else created the replicas of the old one.
    ScaleUp {
        /// The set.
        set: SetVersion,
        /// The replicas of the old set.
        replicas: i64,
    },
    /// Delete a ControllerRevision that the new set created for the same Pod template.
    DeleteRevision {
        /// The name.
        name: String,
        /// The uid.
        uid: String,
    },
    /// Give the change that somebody staged meanwhile the uid of the new set.
    RestoreStaged {
        /// The set.
        set: SetVersion,
        /// The value of the annotation.
        staged: String,
    },
    /// Give the new set the update strategy of the old one.
    RestoreStrategy {
        /// The set.
        set: SetVersion,
        /// The fields of `spec.updateStrategy` to change.
        strategy: Value,
    },
    /// Give the new set the managed fields of the old one, or the old one those that it had before it was marked.
    RestoreManagers {
        /// The set.
        set: SetVersion,
        /// `metadata.managedFields`
        managed_fields: Value,
    },
    /// Make the new set the owner of the ClaimRollout.
    OwnReport {
        /// The uid of the set.
        uid: String,
    },
    /// Delete the journal, if it still is as it was read.
    DeleteJournal,
    /// Delete the journal, and leave the set that somebody else created. This ends the replacement.
    LeaveForeign(Fault),
    /// Remove our finalizer, if the set still has this generation and these finalizers. A status may be written
    /// meanwhile; a DELETE changes the generation or the finalizers. With `whenDeleted` it has to be this version: a user
    /// may ask for the value that it has, which changes nothing else.
    Unmark {
        /// The set.
        set: SetVersion,
        /// `metadata.generation`
        generation: i64,
        /// `metadata.finalizers`
        finalizers: Vec<String>,
        /// `whenDeleted`, if [`Step::Mark`] changed it.
        when_deleted: Option<String>,
    },
    /// Decide again after this time.
    Wait {
        /// The time.
        millis: Millis,
        /// What it waits for.
        waits: Waits,
    },
    /// Nothing is left to do.
    End(End),
}

/// What a replacement waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// No object refers to the old set. The caches of controllers follow within this time.
    Settling,
    /// Something that others do; it takes longer than it should if there is a fault.
    Others(Fault),
    /// The same, for so long that somebody should look.
    Stalled(Fault),
}

/// The end of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The set has no staged change that is to be made live, or does not exist.
    Nothing,
    /// The set is not replaced. It is as before.
    Refused(Fault),
}

/// Why a set is not replaced, or not yet. The fields are a part of the stable format of `plan -o json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The reason.
    pub reason: ReplacementReason,
    /// The reason in a sentence, with what to do.
    pub message: String,
}

impl SetVersion {
    pub(super) fn of(set: &LiveSet) -> Self {
        Self {
            uid: set.uid().to_owned(),
            resource_version: set.resource_version().to_owned(),
        }
    }
}

/// The name of the step after which the guard denies a DELETE of others.
pub const MARK: &str = "Mark";

impl Step {
    /// The name in status, log and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "Read",
            Self::WriteJournal(_) => "WriteJournal",
            Self::DisownReport => "DisownReport",
            Self::Mark(_) => MARK,
            Self::Delete { .. } => "Delete",
            Self::LetGo(_) => "LetGo",
            Self::Create(_) => "Create",
            Self::ScaleUp { .. } => "ScaleUp",
            Self::DeleteRevision { .. } => "DeleteRevision",
            Self::RestoreStrategy { .. } => "RestoreStrategy",
            Self::RestoreStaged { .. } => "RestoreStaged",
            Self::LeaveForeign(_) => "LeaveForeign",
            Self::RestoreManagers { .. } => "RestoreManagers",
            Self::OwnReport { .. } => "OwnReport",
            Self::DeleteJournal => "DeleteJournal",
            Self::Unmark { .. } => "Unmark",
            Self::Wait { .. } => "Wait",
            Self::End(_) => "End",
        }
    }

    /// True iff the Pods and the references to the set that were read before this write may be used after it.
    #[must_use]
    pub const fn keeps_dependents(&self) -> bool {
        matches!(
            self,
            Self::WriteJournal(_)
                | Self::LetGo(_)
                | Self::RestoreStrategy { .. }
                | Self::RestoreStaged { .. }
                | Self::RestoreManagers { .. }
                | Self::OwnReport { .. }
        )
    }

    /// True iff this write needs the version of the set that was read.
    #[must_use]
    pub const fn is_of_version(&self) -> bool {
        matches!(
            self,
            Self::Mark(_)
                | Self::Unmark { .. }
                | Self::Delete { .. }
                | Self::LetGo(_)
                | Self::ScaleUp { .. }
                | Self::RestoreStrategy { .. }
                | Self::RestoreStaged { .. }
                | Self::RestoreManagers { .. }
        )
    }

    pub(super) fn own_report(set: &LiveSet) -> Self {
        Self::OwnReport {
            uid: set.uid().to_owned(),
        }
    }
}

impl Fault {
    pub(super) fn new(reason: ReplacementReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}
