//! One difference as data. The fields are the stable format of `drift -o json`.

use serde::Serialize;

/// A difference from the desired templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drift {
    /// The claim; none if the set itself differs.
    pub(crate) claim: Option<String>,
    pub(crate) kind: DriftKind,
    /// The field of the claim, or of the set.
    pub(crate) field: String,
    /// The desired value; none if the field should be absent.
    pub(crate) wanted: Option<String>,
    /// The present value; none if the field is absent.
    pub(crate) found: Option<String>,
    /// A remark; often empty.
    pub(crate) note: String,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum DriftKind {
    /// The staged change cannot be read.
    StagedChange,
    /// The staged templates differ from the live ones.
    Staged,
    /// A claim of a replica does not exist.
    Missing,
    /// A claim is being deleted.
    Terminating,
    /// A claim belongs to somebody else.
    Foreign,
    /// An immutable field of a claim differs.
    Frozen,
    /// A claim asks for less than its template.
    Smaller,
    /// A claim asks for more than its template.
    Larger,
    /// A claim has less than it asks for.
    Capacity,
    /// A claim asks for another attributes class than its template, or has another than it asks for.
    AttributesClass,
    /// A label of the template is not on the claim.
    Label,
    /// An annotation of the template is not on the claim.
    Annotation,
}

impl DriftKind {
    /// True iff a rollout would update the claim.
    pub(crate) const fn is_lag(self) -> bool {
        matches!(
            self,
            Self::Smaller | Self::AttributesClass | Self::Label | Self::Annotation
        )
    }
}
