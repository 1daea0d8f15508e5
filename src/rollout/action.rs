//! What goes out of the decision: values that the shell executes and tests compare.
//!
//! More kinds come as more rows of the design are decided: replacing the set, re-creating claims.

use std::collections::BTreeMap;

use super::snapshot::SetView;
use crate::templates::{ClaimName, Phase, Quantity, Ready, Revision, StagedChange};

/// One thing to do. Whatever writes names the uid and the resourceVersion that it was decided for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Server-side apply on a claim.
    ApplyClaim(ApplyClaim),
    /// Write the record of a set.
    SetStaged(SetStaged),
    /// Write whose claims became ready, so that its Pod is asked for again.
    SetReady(SetReady),
    /// Evict a Pod.
    Evict(Evict),
    /// Say something once.
    Event(EventNotice),
}

/// One server-side apply: these fields and no others (S2).
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyClaim {
    /// The claim.
    pub name: ClaimName,
    /// Its uid: without it an apply would make a claim that is gone anew, and empty (S3).
    pub uid: String,
    /// Its resourceVersion: the size was computed from what it then held (S1).
    pub resource_version: String,
    /// `spec.resources.requests.storage`: the larger one of template and claim, unless a growth is taken back.
    pub storage: Quantity,
    /// What the claim asks for, where this apply lowers it: a growth of ours that was never reached (KEP-1790).
    pub taken_back: Option<Quantity>,
    /// `spec.volumeAttributesClassName`
    pub volume_attributes_class_name: Option<String>,
    /// `metadata.labels` but for the revision.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// The label `claim-rollout.io/revision`.
    pub revision: Revision,
}

/// A write of the annotation `claim-rollout.io/staged`, and of what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStaged {
    /// The uid of the set.
    pub set_uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// The whole record; nothing where it goes.
    pub change: Option<StagedChange>,
}

/// A write of the annotation `claim-rollout.io/ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetReady {
    /// The uid of the set.
    pub set_uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// The replica; nothing where the annotation goes.
    pub ready: Option<Ready>,
}

/// An eviction of a Pod, so that its volumes are mounted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evict {
    /// Its name.
    pub pod: String,
    /// Its uid.
    pub uid: String,
    /// Name and uid of the claim for which it is evicted.
    pub claim: (String, String),
}

impl SetStaged {
    /// The record that was seen, now in this phase.
    #[must_use]
    pub fn phase(set: &SetView, seen: &StagedChange, phase: Phase) -> Self {
        Self {
            set_uid: set.uid.clone(),
            resource_version: set.resource_version.clone(),
            change: Some(StagedChange { phase, ..seen.clone() }),
        }
    }

    /// Nothing is staged any more.
    #[must_use]
    pub fn none(set: &SetView) -> Self {
        Self {
            set_uid: set.uid.clone(),
            resource_version: set.resource_version.clone(),
            change: None,
        }
    }
}

/// An Event on the set, and on the claim where it concerns one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNotice {
    /// The uid of the set.
    pub set_uid: String,
    /// Name and uid of the claim.
    pub claim: Option<(String, String)>,
    /// What happened.
    pub reason: Reason,
    /// In words.
    pub message: String,
}

/// The reasons of Events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A wish was found.
    ClaimsStaged,
    /// A claim was brought to it.
    ClaimUpdated,
    /// A claim has become what was wished.
    ClaimReady,
    /// The API server refused the apply.
    FailedToPatchPVC,
    /// The driver cannot do it.
    ClaimExpansionFailed,
    /// A claim is not the set's, so it is left alone.
    ClaimForeign,
    /// A Pod was evicted, so that its volumes are mounted again.
    PodEvicted,
    /// Nothing goes on before somebody does something.
    ClaimRolloutStalled,
    /// The ClaimRollout cannot be written; the rollout goes on.
    ClaimRolloutNotWritten,
    /// Every replica is at the wish.
    ClaimRolloutComplete,
    /// The wish was dropped.
    ClaimRolloutWithdrawn,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::ClaimsStaged,
        Self::ClaimUpdated,
        Self::ClaimReady,
        Self::FailedToPatchPVC,
        Self::ClaimExpansionFailed,
        Self::ClaimForeign,
        Self::PodEvicted,
        Self::ClaimRolloutStalled,
        Self::ClaimRolloutNotWritten,
        Self::ClaimRolloutComplete,
        Self::ClaimRolloutWithdrawn,
    ];

    /// The reason as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaimsStaged => "ClaimsStaged",
            Self::ClaimUpdated => "ClaimUpdated",
            Self::ClaimReady => "ClaimReady",
            Self::FailedToPatchPVC => "FailedToPatchPVC",
            Self::ClaimExpansionFailed => "ClaimExpansionFailed",
            Self::ClaimForeign => "ClaimForeign",
            Self::PodEvicted => "PodEvicted",
            Self::ClaimRolloutStalled => "ClaimRolloutStalled",
            Self::ClaimRolloutNotWritten => "ClaimRolloutNotWritten",
            Self::ClaimRolloutComplete => "ClaimRolloutComplete",
            Self::ClaimRolloutWithdrawn => "ClaimRolloutWithdrawn",
        }
    }

    /// True iff somebody should look: the Event is a `Warning`.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::FailedToPatchPVC
                | Self::ClaimExpansionFailed
                | Self::ClaimForeign
                | Self::ClaimRolloutStalled
                | Self::ClaimRolloutNotWritten
        )
    }
}
