//! A settled StatefulSet has nothing left to do: the changes after which it is reconciled again.
//!
//! A change of its status is none of them: other controllers write it again and again, also long after a rollout.
//! Whether its PVCs are updated depends on its spec (`generation`: replicas, ordinals, the update strategy), on our
//! annotations, on its owner and on the report. It also depends on the PVCs, which are not watched any more.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt;

use crate::controller::crd::{ClaimRollout, ClaimRolloutStatus};
use crate::controller::objects::set::SlimSet;
use crate::gate::{SetView, Target};
use crate::templates::{Phase, Revision};

/// A hash of everything that a settled set depends on. It has eight bytes because there are thousands of sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Basis(u64);

impl Basis {
    pub(crate) fn of(set: &SlimSet, report: Option<&ClaimRollout>) -> Self {
        let mut hasher = DefaultHasher::new();
        let metadata = &set.metadata;
        metadata.generation.hash(&mut hasher);
        metadata.deletion_timestamp.is_some().hash(&mut hasher);
        set.annotations().hash(&mut hasher);
        let owners = metadata.owner_references.iter().flatten();
        let controllers = owners.filter(|owner| owner.controller == Some(true));
        let controllers = controllers.map(|owner| (&owner.api_version, &owner.kind, &owner.uid));
        controllers.collect::<Vec<_>>().hash(&mut hasher);
        report
            .map(|report| (report.uid(), report.resource_version()))
            .hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// True iff a previous controller has reported that the current replicas have reached this target, in this
/// generation. So a start or a failover reads no PVCs if there is nothing to do.
pub(crate) fn was_reached(set: &SetView, target: &Target<'_>, report: &ClaimRollout) -> bool {
    let Some(status) = &report.status else { return false };
    let ready = status.condition("Ready");
    let templates = status.volume_claim_templates.iter();
    let mut finished = templates.map(|template| template.finished_reconciliation_generation);
    target.change.phase == Phase::Complete
        && !target.is_to_be_removed(set)
        && is_report_of(report, status, set, &target.label.revision)
        && [&report.spec.staging, &status.staging].map(Option::as_deref) == [Some(target.label.staging.as_str()); 2]
        && status.replicas == Some(i64::from(set.replicas))
        && finished.all(|finished| finished == Some(set.generation))
        && ready.is_some_and(|ready| ready.status == "True" && ready.reason == "Complete")
}

/// True iff a previous controller has written this report about the set and these templates, and nobody has changed it.
pub(crate) fn is_report_of(
    report: &ClaimRollout,
    status: &ClaimRolloutStatus,
    set: &SetView,
    revision: &Revision,
) -> bool {
    let spec = &report.spec;
    spec.set_ref.uid == set.uid
        && [&*spec.revision, &*status.update_revision] == [revision.as_str(); 2]
        && spec.sync == set.sync.to_string()
        && Some(status.observed_generation) == report.metadata.generation
}

#[cfg(test)]
#[path = "settled_tests.rs"]
mod tests;
