//! The limits on the reached replicas: the quotas of the namespace and the budgets of storage classes.

use super::order::Order;
use super::quota;
use super::quota::Held;
use super::replica::Replica;
use super::snapshot::Snapshot;
use super::spending::Spending;
use crate::gate::Target;

/// Why claims are not written although it is their turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Why no claim is written, if so.
    pub held: Option<Held>,
    /// The budgets, and which claims wait for them.
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
