//! Why a look at a StatefulSet failed.

use super::views;
use crate::templates::StagedError;

/// Why a look failed. It is repeated.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    /// An object of the API cannot be read.
    #[error(transparent)]
    View(#[from] views::ViewError),
    /// The record cannot be written.
    #[error(transparent)]
    StagedChange(#[from] StagedError),
    /// What is registered for admission is not known.
    #[error("webhooks and policies: {0}")]
    Admission(String),
    /// A write did not succeed, or nobody knows.
    #[error("{what}: {why}")]
    Write {
        /// What was to be written.
        what: &'static str,
        /// Why it was not.
        why: String,
        /// Seconds that the API server asked to wait.
        retry_after: Option<u32>,
    },
}
