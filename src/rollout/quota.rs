//! Before the first PVC of a rollout is written: whether all that would grow fits into the quotas of the namespace.
//!
//! A rollout that ends half way leaves a StatefulSet with PVCs of two sizes. What was asked of the quotas once may be wrong a
//! moment later, so the API server may still deny a PVC on the way; that is told of the PVC (`ClaimRefused`).

use super::order::Order;
use super::replica::{At, Replica};
use super::snapshot::{Seconds, Snapshot};
use super::target::Target;
use crate::claims::quota::{Excess, Growth, Quotas, exceeded};

/// Time between two looks at the quotas while something does not fit.
pub const RECHECK: Seconds = 30;

/// Why nothing is written although it is the turn of some replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// The quotas are to be read first.
    Unread,
    /// All that would grow does not fit.
    Exceeds(Excess),
}

/// What keeps the first PVC from being written, if anything does.
///
/// It is the first as long as no PVC is at the revision, and none was denied. What counts is every PVC that the rollout may
/// write as things are: those below the partition, or whose Pod is to be deleted by hand first, count when they may.
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
    let free = replicas.iter().filter(|replica| replica.kept.is_none());
    let growths = free.flat_map(|replica| &replica.claims).filter_map(|standing| {
        let claim = standing.claim.filter(|_| standing.wants_apply(snapshot.now))?;
        let to = standing.apply(snapshot, target)?.storage;
        (to > claim.request).then(|| Growth {
            class: claim.storage_class_name(),
            from: claim.request,
            to,
        })
    });
    let growths: Vec<Growth<'_>> = growths.collect();
    match &snapshot.quotas {
        Quotas::Unread => (!growths.is_empty()).then_some(Held::Unread),
        Quotas::Known(quotas) => exceeded(quotas, &growths).map(Held::Exceeds),
        Quotas::Unchecked => None,
    }
}
