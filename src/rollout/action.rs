//! The output of the decision: values that the shell executes and tests compare.

use std::collections::BTreeMap;

use crate::api::{Seconds, SetVersion};
use crate::gate::SetView;
use crate::templates::words::words;
use crate::templates::{ClaimName, Phase, Quantity, Ready, RevisionLabel, StagedChange};

/// One action. Every write names the uid and the resourceVersion that it was decided for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Apply a claim.
    ApplyClaim(ApplyClaim),
    /// Write or remove the staged change of a set.
    SetStaged(SetStaged),
    /// Write when this staging was first seen.
    SetStagedAt(SetStagedAt),
    /// Write which replica has become ready, so that the StatefulSet controller retries the deletion of its Pod.
    SetReady(SetReady),
    /// Write the annotation `claim-rollout.io/ready` beside a staging that is not rolled out, to this set.
    HoldStaged(SetVersion),
    /// Evict a Pod.
    Evict(Evict),
    /// Create a VolumeSnapshot of a claim.
    TakeSnapshot(TakeSnapshot),
    /// Mark a claim that is deleted next, so that after a crash it is known who deletes it.
    MarkClaim(ClaimOf),
    /// Remove the mark of a claim that is not deleted.
    UnmarkClaim(ClaimOf),
    /// Delete a claim that has the mark.
    DeleteClaim(ClaimOf),
    /// Emit an Event.
    Event(EventNotice),
}

/// A server-side apply of these fields and no others (S2).
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyClaim {
    /// The name of the claim.
    pub name: ClaimName,
    /// The uid of the claim: without it, an apply to a deleted claim would create an empty one (S3).
    pub uid: String,
    /// The resourceVersion of the claim that the size was computed from (S1).
    pub resource_version: String,
    /// `spec.resources.requests.storage`: the larger size of template and claim, unless a growth is taken back.
    pub storage: Quantity,
    /// The size that the claim requests, if this apply lowers it: a growth of ours that was never reached (KEP-1790).
    pub taken_back: Option<Quantity>,
    /// `spec.volumeAttributesClassName`
    pub volume_attributes_class_name: Option<String>,
    /// `metadata.labels` without the revision.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// The label `claim-rollout.io/revision`.
    pub label: RevisionLabel,
}

/// A write of the annotation `claim-rollout.io/staged` and of those that belong to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStaged {
    /// The set.
    pub set: SetVersion,
    /// The whole staged change; `None` removes it.
    pub change: Option<StagedChange>,
}

/// A write of the annotation `claim-rollout.io/staged-at`, which does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetStagedAt {
    /// The set.
    pub set: SetVersion,
    /// The present time. If the clock of the API server shows an earlier one, that one is written.
    pub at: Seconds,
}

/// A write of the annotation `claim-rollout.io/ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetReady {
    /// The set.
    pub set: SetVersion,
    /// The replica; `None` removes the annotation.
    pub ready: Option<Ready>,
}

/// An eviction of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evict {
    /// The name of the Pod.
    pub pod: String,
    /// The uid of the Pod.
    pub uid: String,
    /// Name and uid of the claim that the eviction is for.
    pub claim: (String, String),
    /// Why the Pod is evicted.
    pub reason: EvictReason,
}

/// Why a Pod is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictReason {
    /// Its volumes are mounted again.
    Remount,
    /// It does not mount the claim of a live template.
    Lacks,
    /// Its claim is being deleted, to be created anew.
    ReCreated,
}

/// A claim, with the version that a write was decided for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOf {
    /// The name of the claim.
    pub name: String,
    /// The uid of the claim.
    pub uid: String,
    /// The resourceVersion of the claim.
    pub resource_version: String,
    /// The label of updated claims.
    pub label: RevisionLabel,
    /// The VolumeSnapshots that count of a claim that is deleted, with their ages.
    pub snapshot: Option<String>,
}

/// A VolumeSnapshot of a claim that will be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeSnapshot {
    /// The name of the VolumeSnapshot.
    pub name: String,
    /// Its VolumeSnapshotClass.
    pub class: String,
    /// The name of the set.
    pub set: String,
    /// The claim.
    pub of: ClaimOf,
}

impl SetStaged {
    /// The staged change `seen`, which every replica has now.
    #[must_use]
    pub fn complete(set: &SetView, seen: &StagedChange) -> Self {
        Self::of(set, seen, Phase::Complete, seen.replicas)
    }

    /// The staged change `seen`, which a replica that came back does not have. If it is scaled away again, its PVCs are
    /// not forgotten.
    #[must_use]
    pub fn taken_back(set: &SetView, seen: &StagedChange) -> Self {
        Self::of(set, seen, Phase::RollingOut, seen.replicas.max(set.replicas))
    }

    fn of(set: &SetView, seen: &StagedChange, phase: Phase, replicas: u32) -> Self {
        let change = StagedChange {
            phase,
            replicas,
            ..seen.clone()
        };
        Self {
            set: set.version(),
            change: Some(change),
        }
    }

    /// Removes the staged change.
    #[must_use]
    pub fn none(set: &SetView) -> Self {
        Self {
            set: set.version(),
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
    /// The reason of the Event.
    pub reason: Reason,
    /// The message of the Event.
    pub message: String,
}

impl EventNotice {
    /// One on the set with this uid, and on no claim.
    #[must_use]
    pub fn of_set(set_uid: impl Into<String>, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            set_uid: set_uid.into(),
            claim: None,
            reason,
            message: message.into(),
        }
    }
}

words! {
    /// The reasons of Events.
    pub enum Reason {
        /// A change was staged. The message lists what happens.
        ClaimsStaged,
        /// The PVC was patched.
        ClaimUpdated,
        /// The PVC has the size and the class that it asks for.
        ClaimReady,
        /// The API server denied the patch of the PVC, or stored something else.
        FailedToPatchPVC,
        /// The driver cannot expand or modify the volume.
        ClaimExpansionFailed,
        /// The PVC does not belong to the StatefulSet, so it is left alone.
        ClaimForeign,
        /// The PVC was deleted, so that it is created anew.
        ClaimDeleted,
        /// The Pod was evicted, so that its volumes are mounted again, its PVC is created anew, or it gets a volume
        /// that it lacks.
        PodEvicted,
        /// The Pod was replaced before its PVC was updated: the policy was not asked, or somebody deleted or evicted
        /// the Pod.
        PodReplacedEarly,
        /// The rollout needs help. The message contains the reason.
        ClaimRolloutStalled,
        /// The ClaimRollout cannot be written. The rollout continues.
        ClaimRolloutNotWritten,
        /// All PVCs are updated and ready.
        ClaimRolloutComplete,
        /// The staged change was withdrawn.
        ClaimRolloutWithdrawn,
        /// The StatefulSet was replaced by one with the desired templates.
        StatefulSetReplaced,
        /// The StatefulSet is not replaced, or its replacement waits.
        StatefulSetNotReplaced,
        /// Somebody set `whenDeleted: Retain` during a replacement, so it stays.
        RetentionKept,
    }
}

impl Reason {
    /// True iff the Event is a `Warning`.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::FailedToPatchPVC
                | Self::ClaimExpansionFailed
                | Self::ClaimForeign
                | Self::PodReplacedEarly
                | Self::ClaimRolloutStalled
                | Self::ClaimRolloutNotWritten
                | Self::StatefulSetNotReplaced
        )
    }
}
