//! The check before the first write: whether all PVCs that would grow fit into the quotas of the namespace.
//!
//! A rollout that ends half way leaves a StatefulSet with PVCs of two sizes. Quotas may change after the check, so the
//! API server may still deny a PVC later; the PVC then reports it (`ClaimRefused`).

use super::assessment::At;
use super::order::Order;
use super::replica::Replica;
use super::snapshot::Snapshot;
use crate::api::Seconds;
use crate::claims::quota::{Excess, Growth, Quotas, exceeded};
use crate::gate::Target;

/// Time until the quotas are read again while the rollout does not fit.
pub const RECHECK: Seconds = 30;

/// Why no PVC is written although the turn of a replica has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// The quotas must be read first.
    Unread,
    /// The PVCs that would grow do not fit.
    Exceeds(Excess),
}

/// Why the first PVC may not be written, if so.
///
/// A PVC is the first while none is updated and none was denied. Every PVC that the rollout may write now counts: PVCs
/// below the partition, or whose Pod has to be deleted by hand first, count later.
pub(super) fn held(
    snapshot: &Snapshot,
    target: &Target<'_>,
    replicas: &[Replica<'_>],
    order: &Order<'_>,
) -> Option<Held> {
    if snapshot.quotas == Quotas::Unchecked {
        return None;
    }
    let mut claims = replicas.iter().flat_map(|replica| &replica.claims);
    let mut reached = order.reached.iter().flat_map(|replica| &replica.claims);
    let is_first = claims.all(|claim| claim.at != At::Updated && claim.retry_at.is_none());
    if !is_first || !reached.any(|claim| claim.wants_apply(snapshot.now)) {
        return None;
    }
    let free = replicas.iter().filter(|replica| replica.restraint.is_none());
    let growths = free.flat_map(|replica| &replica.claims).filter_map(|assessment| {
        let claim = assessment.claim.filter(|_| assessment.wants_apply(snapshot.now))?;
        Growth::of(claim, assessment.apply(snapshot, target)?.storage)
    });
    let growths: Vec<Growth<'_>> = growths.collect();
    match &snapshot.quotas {
        Quotas::Unread => (!growths.is_empty()).then_some(Held::Unread),
        Quotas::Known(quotas) => exceeded(quotas, &growths).map(Held::Exceeds),
        Quotas::Unchecked => None,
    }
}
