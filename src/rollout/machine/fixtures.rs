//! Objects for the tests of the memory: PVCs of the product, and reports that are only a uid and a version.

use super::kinds::{Kinds, is_older};
use super::memory::SetMemory;
use crate::claims::Claim;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::rollout::Refusal;
use crate::templates::RevisionLabel;

/// The objects of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfTests;

/// A memory of these objects.
pub(super) type TestMemory = SetMemory<OfTests>;

impl Kinds for OfTests {
    type Uid = String;
    type Version = String;
    type Write = String;
    type Label = RevisionLabel;
    type Cause = String;
    type Claim = Claim;
    type Report = (&'static str, &'static str);
    type ReportUid = &'static str;
    type Basis = u64;

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
        is_older(seen, written)
    }

    fn report_uid(report: &Self::Report) -> Option<&'static str> {
        Some(report.0)
    }

    fn report_version(report: &Self::Report) -> String {
        report.1.to_owned()
    }

    fn changed_by_others() -> String {
        CHANGED_BY_OTHERS.to_owned()
    }

    fn not_answered() -> String {
        Refusal::NOT_ANSWERED.to_owned()
    }
}

/// The PVC `data-web-0` with this uid and version.
pub(super) fn claim(uid: &str, resource_version: &str) -> Claim {
    Claim {
        name: "data-web-0".to_owned(),
        uid: uid.to_owned(),
        resource_version: resource_version.to_owned(),
        ..Claim::default()
    }
}
