//! PVCs that have to wait because their storage class allows no more modifications in 24 hours.

use super::forecast::ForecastClaim;
use super::inputs::Inputs;
use crate::gate::ClaimState;
use crate::rollout::spending::BudgetWait;
use crate::rollout::{Snapshot, spending};
use crate::templates::keys;

/// One note for each such claim, in the order of the rollout.
pub(super) fn waits(inputs: &Inputs<'_>, snapshot: &Snapshot, claims_of: &[ForecastClaim]) -> Vec<String> {
    let pending = claims_of
        .iter()
        .filter(|standing| standing.state == ClaimState::Pending);
    let waits = pending.filter_map(|standing| {
        let claim = snapshot.claims.get(&standing.row.name)?;
        let class = claim.storage_class_name()?;
        let most = inputs.limits.get(class)?.per_day?;
        let modifies = spending::modifies(claim, standing.apply.as_ref()?);
        let object = inputs
            .state
            .one(
                "v1",
                "PersistentVolumeClaim",
                &inputs.target.namespace,
                &standing.row.name,
            )
            .filter(|_| modifies)?;
        let times = object["metadata"]["annotations"][keys::MODIFIED].as_str()?;
        let waits = BudgetWait::used_up(&spending::read(times), class, most, inputs.now)?;
        Some(format!("{} {}", standing.row.name, waits.message))
    });
    waits.collect()
}
