//! What of the order is done now: within what the quotas of the namespace and the budgets of storage classes allow.

use super::order::Order;
use super::quota::{self, Held};
use super::replica::Replica;
use super::snapshot::Snapshot;
use super::spending::Spending;
use super::target::Target;

/// What keeps claims from being written although it is their turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Why no claim is written.
    pub held: Option<Held>,
    /// Who waits for a budget.
    pub spending: Spending,
}

impl Bounds {
    /// The bounds of this order.
    #[must_use]
    pub fn of(snapshot: &Snapshot, target: &Target<'_>, replicas: &[Replica<'_>], order: &Order<'_>) -> Self {
        let held = quota::held(snapshot, target, replicas, order);
        let reached = if held.is_none() { &order.reached[..] } else { &[] };
        Self {
            spending: Spending::of(snapshot, target, replicas, reached),
            held,
        }
    }
}
