//! The error of a reconcile.

use crate::controller::objects::views;
use crate::templates::StagedError;

/// The history, among the objects that are written.
pub(crate) const HISTORY: &str = "ControllerRevision";

/// An error of a reconcile, which is requeued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// An object of the API has an unexpected value.
    #[error(transparent)]
    View(#[from] views::ViewError),
    /// The staged change cannot be written.
    #[error(transparent)]
    StagedChange(#[from] StagedError),
    /// The registered webhooks and policies cannot be read.
    #[error("failed to read webhooks and policies: {0}")]
    Admission(String),
    /// A write failed, or its outcome is unknown.
    #[error("failed to write {what}: {why}")]
    Write {
        /// The object.
        what: &'static str,
        /// The cause.
        why: String,
        /// The seconds that the API server asked to wait.
        retry_after: Option<u32>,
    },
}

impl ReconcileError {
    /// The cause, for a report that names what failed.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Admission(why) => why.clone(),
            other => other.to_string(),
        }
    }

    /// True iff only the history could not be written: the report was.
    pub(crate) fn is_of_history(&self) -> bool {
        matches!(self, Self::Write { what, .. } if *what == HISTORY)
    }
}
