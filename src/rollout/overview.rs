//! A rollout in one decision: what each part of the decision has found.

use super::bounds::Bounds;
use super::order::Order;
use super::recreate::ReCreation;
use super::replica::Replica;
use super::snapshot::Snapshot;
use crate::api::Seconds;
use crate::gate::Target;

/// What is known of a rollout, before its actions and its progress are put together.
#[derive(Clone, Copy)]
pub struct Overview<'r> {
    /// What was read.
    pub snapshot: &'r Snapshot,
    /// What is rolled out.
    pub target: &'r Target<'r>,
    /// The replicas, highest ordinal first; those that were scaled away come last.
    pub replicas: &'r [Replica<'r>],
    /// Whose turn it is.
    pub order: &'r Order<'r>,
    /// The limits of quotas and storage classes.
    pub bounds: &'r Bounds,
    /// The next step of `ReCreate`.
    pub recreation: &'r ReCreation,
    /// When the progress deadline is exceeded.
    pub deadline: Option<Seconds>,
}
