//! One difference, as data: the shape of `drift -o json`, which stays as it is.

use serde::Serialize;

/// Something that is not as it is wished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Drift {
    /// The claim; none where the set itself differs.
    pub(crate) claim: Option<String>,
    pub(crate) kind: DriftKind,
    /// The field of the claim, or of the set.
    pub(crate) field: String,
    /// None where the field should not be there.
    pub(crate) wanted: Option<String>,
    /// None where the field is not there.
    pub(crate) found: Option<String>,
    /// What else to know; often nothing.
    pub(crate) note: String,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum DriftKind {
    /// The record cannot be read.
    StagedChange,
    /// What is staged is not what the set has.
    Staged,
    /// A replica has no such claim.
    Missing,
    /// A claim is being deleted.
    Terminating,
    /// A claim is another's.
    Foreign,
    /// A field of a claim differs that cannot change.
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
    /// True iff a rollout would bring the claim up.
    pub(crate) const fn is_lag(self) -> bool {
        matches!(
            self,
            Self::Smaller | Self::AttributesClass | Self::Label | Self::Annotation
        )
    }
}
