//! Executes the actions of a plan.

use super::writer::Writer;
use super::{evict, recreate, requests};
use crate::controller::calls::error::ReconcileError;
use crate::controller::objects::set::SlimSet;
use crate::rollout::Action;
use crate::rollout::machine::RoundOutcome;

/// Executes an action. An Event is emitted with the report.
pub(crate) async fn execute(writer: &Writer, set: &SlimSet, action: &Action) -> Result<RoundOutcome, ReconcileError> {
    match action {
        Action::ApplyClaim(apply) => writer.apply(set, apply).await,
        Action::SetStaged(action) => {
            writer
                .annotate(set, "annotation staged", &requests::staged_change(action)?)
                .await
        }
        Action::SetStagedAt(action) => writer.set_staged_at(set, action).await,
        Action::SetReady(action) => writer.annotate(set, "annotation ready", &requests::ready(action)).await,
        Action::HoldStaged(action) => writer.annotate(set, "annotation ready", &requests::hold(action)).await,
        Action::Evict(evict) => evict::evict(writer, set, evict).await,
        Action::TakeSnapshot(take) => recreate::take_snapshot(writer, set, take).await,
        Action::MarkClaim(claim) => recreate::mark_claim(writer, set, claim, true).await,
        Action::UnmarkClaim(claim) => recreate::mark_claim(writer, set, claim, false).await,
        Action::DeleteClaim(claim) => recreate::delete_claim(writer, set, claim).await,
        Action::Event(_) => Ok(RoundOutcome::Nothing),
    }
}

#[cfg(test)]
#[path = "actions_tests.rs"]
mod tests;
