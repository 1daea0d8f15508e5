//! Executes the actions of a plan.

use kube::ResourceExt;

use super::writer::Writer;
use super::{evict, recreate, requests};
use crate::controller::calls::api_calls::write_text;
use crate::controller::calls::error::ReconcileError;
use crate::controller::objects::set::SlimSet;
use crate::rollout::machine::RoundOutcome;
use crate::rollout::{Action, SetReady, SetStaged, SetStagedAt};

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
        Action::HoldStaged(seen) => writer.annotate(set, "annotation ready", &requests::hold(seen)).await,
        Action::Evict(evict) => evict::evict(writer, set, evict).await,
        Action::TakeSnapshot(take) => recreate::take_snapshot(writer, set, take).await,
        Action::MarkClaim(claim) => recreate::mark_claim(writer, set, claim, true).await,
        Action::UnmarkClaim(claim) => recreate::mark_claim(writer, set, claim, false).await,
        Action::DeleteClaim(claim) => recreate::delete_claim(writer, set, claim).await,
        Action::Event(_) => Ok(RoundOutcome::Nothing),
    }
}

/// The resource of PVCs.
const CLAIMS: &str = "persistentvolumeclaims";

/// The write of an action, for the log.
pub(crate) fn write_of(set: &SlimSet, action: &Action) -> String {
    let (namespace, set) = (set.namespace().unwrap_or_default(), set.name_any());
    let (verb, resource, name, version) = match action {
        Action::ApplyClaim(apply) => ("patch", CLAIMS, apply.name.as_str(), &*apply.resource_version),
        Action::MarkClaim(claim) | Action::UnmarkClaim(claim) => {
            ("patch", CLAIMS, &*claim.name, &*claim.resource_version)
        }
        Action::DeleteClaim(claim) => ("delete", CLAIMS, &*claim.name, &*claim.resource_version),
        Action::SetStaged(SetStaged { set: seen, .. })
        | Action::SetStagedAt(SetStagedAt { set: seen, .. })
        | Action::SetReady(SetReady { set: seen, .. })
        | Action::HoldStaged(seen) => ("patch", "statefulsets", &*set, &*seen.resource_version),
        Action::Evict(evict) => ("create", "pods", &*evict.pod, &*evict.uid),
        Action::TakeSnapshot(take) => ("create", "volumesnapshots", &*take.name, ""),
        Action::Event(_) => ("create", "events", &*set, ""),
    };
    write_text([verb, resource], [&namespace, name], version)
}

#[cfg(test)]
#[path = "actions_tests.rs"]
mod tests;
