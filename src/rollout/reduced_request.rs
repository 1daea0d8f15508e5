//! How far the request of a PVC can be taken back.

use crate::claims::Claim;
use crate::templates::{Quantity, keys};

/// Sizes are requested in steps of this number of bytes; most drivers round up to larger steps.
pub const SIZE_STEP: u64 = 1 << 20;

/// The lower size that takes back a growth of ours that was never reached (KEP-0661, KEP-1790): the wanted size, or the
/// smallest size that the API server accepts, which is more than the capacity. So a claim that already has the wanted
/// size requests one step more than its capacity.
///
/// A growth is ours if a previous apply of ours alone owns the size of the claim. A size that a human or an autoscaler
/// requested stays.
#[must_use]
pub fn reduce_request(claim: &Claim, wanted: Quantity) -> Option<Quantity> {
    let ours = claim.size_is_ours && claim.labels.contains_key(keys::REVISION);
    let lowered = wanted.max(least_request(claim)?);
    (ours && lowered < claim.request).then_some(lowered)
}

/// The smallest size to which the API server lets a larger request go down: one step more than the capacity. `None` if
/// the capacity is not known.
#[must_use]
pub fn least_request(claim: &Claim) -> Option<Quantity> {
    let steps = claim.capacity?.bytes().ok()? / SIZE_STEP;
    Some(Quantity::from_bytes((steps + 1).checked_mul(SIZE_STEP)?))
}
