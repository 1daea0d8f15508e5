//! The requests that the model and a real API server get.

use serde::{Deserialize, Serialize};

use super::{ModelTarget, ModifyState, ResizeState};

/// How the policy is registered during a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyMode {
    /// No policy.
    Absent,
    /// The policy with `shrink: Deny`.
    Deny,
    /// The policy with `shrink: Recover`.
    Recover,
}

/// The uid or resourceVersion that a write names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WritePrecondition {
    /// That of the existing object.
    Now,
    /// A wrong one.
    Other,
}

/// The controller that owns a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// None.
    Nobody,
    /// The set.
    Set,
    /// Any other.
    Stranger,
}

/// A change of the set by a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetEdit {
    /// `spec.replicas`
    Replicas(u8),
    /// The image of the Pod template.
    Image(u8),
    /// `spec.volumeClaimTemplates`
    Templates(ModelTarget),
    /// The partition of the update strategy.
    Partition(u8),
    /// The annotation `paused`.
    Paused(bool),
    /// The annotation `update-policy`: `InPlace`, `OnClaimDelete`, or none.
    InPlace(Option<bool>),
    /// The annotation `sync`: `Async`, or none.
    Async(bool),
    /// The update strategy: `OnDelete`, or `RollingUpdate` with partition 0.
    OnDelete(bool),
    /// The annotation `withdraw`: the revision of this target.
    Withdraw(ModelTarget),
    /// The annotation `staged`, not written by a policy: for this set, or for another.
    Staged(ModelTarget, bool),
}

/// A request. Claims are named by slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModelRequest {
    /// Our server-side apply on a claim: size, attributes class and label of the first target, and the revision of
    /// the second.
    Apply(
        u8,
        Option<WritePrecondition>,
        Option<WritePrecondition>,
        ModelTarget,
        ModelTarget,
    ),
    /// Our staged change: target, and whether it is complete.
    StagedChange(Option<WritePrecondition>, Option<WritePrecondition>, ModelTarget, bool),
    /// Our annotation `ready`: target and ordinal, or none.
    Ready(
        Option<WritePrecondition>,
        Option<WritePrecondition>,
        Option<(ModelTarget, u8)>,
    ),
    /// Our report on a target.
    Report(ModelTarget, u32),
    /// A user creates the set with these replicas and templates.
    Create(u8, ModelTarget),
    /// A user updates the set.
    Update(Vec<SetEdit>),
    /// A user deletes the set; `true` orphans the dependents.
    Remove(bool),
    /// Adds or removes an owner of the set.
    Owned(bool),
    /// Creates or deletes a set whose claims have the same names.
    Sibling(bool),
    /// The StatefulSet controller writes the status.
    Observe,
    /// The StatefulSet controller creates a claim.
    NewClaim(u8),
    /// A volume is bound to a claim.
    Bind(u8),
    /// The resizer writes the status: capacity, attributes class, and the progress of both.
    Status(u8, u8, u8, ResizeState, ModifyState),
    /// A user changes the size of a claim.
    Size(u8, u8),
    /// A user changes the attributes class of a claim.
    Class(u8, u8),
    /// A user removes our label.
    DropLabel(u8),
    /// A user adds or removes the selector's label.
    Select(u8, bool),
    /// A user changes the owner of a claim.
    Own(u8, Holder),
    /// A claim is in use, or not. Nothing is sent; it is remembered.
    Mount(u8, bool),
    /// A user deletes a claim.
    Delete(u8),
    /// The finalizer of a terminating claim that is not in use is removed.
    Release(u8),
    /// The Gi that all claims together may request; 255 is no quota.
    Quota(u8),
    /// `allowVolumeExpansion` of the StorageClass.
    Expandable(bool),
}
