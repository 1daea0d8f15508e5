//! The objects of the API, for the memory of a StatefulSet.

use std::sync::Arc;

use kube::ResourceExt;

use super::crd::ClaimRollout;
use super::settled::Basis;
use crate::claims::Claim;
use crate::rollout::Refusal;
use crate::rollout::machine::{self, Kinds, Remembered, SetMemory};
use crate::templates::RevisionLabel;

/// The objects of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfApi;

/// The memory of a StatefulSet.
pub(super) type RolloutMemory = SetMemory<OfApi>;

/// The same, small while the StatefulSet is settled.
pub(super) type RememberedSet = Remembered<OfApi>;

impl Kinds for OfApi {
    type Uid = String;
    type Version = String;
    type Write = String;
    type Label = RevisionLabel;
    type Cause = String;
    type Claim = Claim;
    type Report = Arc<ClaimRollout>;
    type ReportUid = String;
    type Basis = Basis;

    fn uid(claim: &Claim) -> String {
        claim.uid.clone()
    }

    fn version(claim: &Claim) -> String {
        claim.resource_version.clone()
    }

    fn has_label(claim: &Claim, label: &RevisionLabel) -> bool {
        label.is_on(&claim.labels)
    }

    fn is_older(seen: &String, written: &String) -> bool {
        machine::is_older(seen, written)
    }

    fn report_uid(report: &Arc<ClaimRollout>) -> Option<String> {
        report.uid()
    }

    fn report_version(report: &Arc<ClaimRollout>) -> String {
        report.resource_version().unwrap_or_default()
    }

    fn changed_by_others() -> String {
        Refusal::CHANGED_BY_OTHERS.to_owned()
    }

    fn not_answered() -> String {
        Refusal::NOT_ANSWERED.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::RememberedSet;

    #[test]
    fn memory_of_a_settled_set_is_small() {
        let size = size_of::<RememberedSet>();
        assert!(size <= 56, "{size} bytes");
    }
}
