//! The objects that a memory is about.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::claims::Claim;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::rollout::Refusal;
use crate::templates::RevisionLabel;

/// The objects of the API, or those of a model of it.
pub trait Kinds: Copy + Debug + Eq {
    /// The uid of a PVC.
    type Uid: Clone + Debug + Ord;
    /// A resourceVersion.
    type Version: Clone + Debug + PartialEq;
    /// A write, with the version of the object that it was decided for.
    type Write: Clone + Debug + PartialEq;
    /// The label of an apply.
    type Label: Clone + Debug + PartialEq;
    /// The cause of a denial.
    type Cause: Clone + Debug + PartialEq;
    /// A PVC.
    type Claim: Clone + Debug + PartialEq;
    /// A ClaimRollout.
    type Report: Clone + Debug + PartialEq;
    /// The uid of a ClaimRollout.
    type ReportUid: Clone + Debug + PartialEq;
    /// Everything that a settled StatefulSet depends on.
    type Basis: Copy + Debug + PartialEq;

    /// The uid of the PVC.
    fn uid(claim: &Self::Claim) -> Self::Uid;

    /// The version of the PVC.
    fn version(claim: &Self::Claim) -> Self::Version;

    /// True iff the PVC has this label.
    fn has_label(claim: &Self::Claim, label: &Self::Label) -> bool;

    /// True iff the first version is known to come before the second one.
    fn is_older(seen: &Self::Version, written: &Self::Version) -> bool;

    /// The uid of the ClaimRollout.
    fn report_uid(report: &Self::Report) -> Option<Self::ReportUid>;

    /// The version of the ClaimRollout.
    fn report_version(report: &Self::Report) -> Self::Version;

    /// The cause of a denial where others change what is applied.
    fn changed_by_others() -> Self::Cause;

    /// The cause of a denial where nobody answers.
    fn not_answered() -> Self::Cause;
}

/// PVCs of the API, with these reports.
pub trait ApiKinds: Copy + Debug + Eq {
    /// A ClaimRollout.
    type Report: Clone + Debug + PartialEq;
    /// Everything that a settled StatefulSet depends on.
    type Basis: Copy + Debug + PartialEq;

    /// The uid of the ClaimRollout.
    fn report_uid(report: &Self::Report) -> Option<String>;

    /// The version of the ClaimRollout.
    fn report_version(report: &Self::Report) -> String;
}

impl<K: ApiKinds> Kinds for K {
    type Uid = String;
    type Version = String;
    type Write = String;
    type Label = RevisionLabel;
    type Cause = String;
    type Claim = Claim;
    type Report = K::Report;
    type ReportUid = String;
    type Basis = K::Basis;

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

    fn report_uid(report: &Self::Report) -> Option<String> {
        <K as ApiKinds>::report_uid(report)
    }

    fn report_version(report: &Self::Report) -> String {
        <K as ApiKinds>::report_version(report)
    }

    fn changed_by_others() -> String {
        CHANGED_BY_OTHERS.to_owned()
    }

    fn not_answered() -> String {
        Refusal::NOT_ANSWERED.to_owned()
    }
}

/// Denied applies, by uid of the PVC.
pub(super) type Denials<K> =
    BTreeMap<<K as Kinds>::Uid, Refusal<<K as Kinds>::Label, <K as Kinds>::Version, <K as Kinds>::Cause>>;

/// True iff both resourceVersions are numbers, as in every release of Kubernetes, and the first one is smaller.
fn is_older(seen: &str, written: &str) -> bool {
    match (seen.parse::<u64>(), written.parse::<u64>()) {
        (Ok(seen), Ok(written)) => seen < written,
        _ => false,
    }
}
