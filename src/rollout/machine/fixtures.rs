//! Objects for the tests of the memory: PVCs of the product, and reports that are only a uid and a version.

use super::kinds::ApiKinds;
use super::memory::SetMemory;
use crate::claims::Claim;

/// The objects of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OfTests;

/// A memory of these objects.
pub(super) type TestMemory = SetMemory<OfTests>;

impl ApiKinds for OfTests {
    type Report = (&'static str, &'static str);
    type Basis = u64;

    fn report_uid(report: &Self::Report) -> Option<String> {
        Some(report.0.to_owned())
    }

    fn report_version(report: &Self::Report) -> String {
        report.1.to_owned()
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
