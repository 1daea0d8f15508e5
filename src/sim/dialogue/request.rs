//! The requests.

use serde::{Deserialize, Serialize};

use super::{Modify, Resize, Target};

/// What stands between users and the set, for as long as a sequence lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// The policy is not there.
    Away,
    /// The policy, as it is.
    Refuse,
    /// The policy with `shrink: Recover`.
    Recover,
}

/// Which uid or resourceVersion a write names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// That of the object as it is.
    Now,
    /// Another.
    Other,
}

/// Who owns a claim, as its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// The set.
    Set,
    /// Something else.
    Stranger,
}

/// A change of the set by a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edit {
    /// `spec.replicas`
    Replicas(u8),
    /// What Pods run.
    Image(u8),
    /// `spec.volumeClaimTemplates`
    Templates(Target),
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
    /// The annotation `withdraw`: the revision of this wish.
    Withdraw(Target),
    /// The annotation `staged`: a record that no policy wrote, of this set or of another.
    Staged(Target, bool),
}

/// A request; claims are named by their slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Our server-side apply on a claim: size, attributes class and label as in the wish's one template, and the revision of
    /// the other wish.
    Apply(u8, Option<Which>, Option<Which>, Target, Target),
    /// Our record: of a wish, complete or not.
    StagedChange(Option<Which>, Option<Which>, Target, bool),
    /// Whose claims became ready: of a wish and an ordinal, or nobody's.
    Ready(Option<Which>, Option<Which>, Option<(Target, u8)>),
    /// Our report on a wish.
    Report(Target, u32),
    /// Somebody creates the set, with these replicas and templates.
    Create(u8, Target),
    /// Somebody changes the set.
    Update(Vec<Edit>),
    /// Somebody deletes the set; true: not what it owns.
    Remove(bool),
    /// An operator owns the set, or nobody.
    Owned(bool),
    /// A set whose claims would have the same names comes or goes.
    Sibling(bool),
    /// The StatefulSet controller has observed the set.
    Observe,
    /// The StatefulSet controller creates a claim.
    NewClaim(u8),
    /// A volume is bound to a claim.
    Bind(u8),
    /// The resizer writes how far it is: capacity, attributes class, and what is going on.
    Status(u8, u8, u8, Resize, Modify),
    /// Somebody writes the size of a claim.
    Size(u8, u8),
    /// Somebody writes the attributes class of a claim.
    Class(u8, u8),
    /// Somebody takes our label from a claim.
    DropLabel(u8),
    /// Somebody takes the selector's label from a claim, or puts it there.
    Select(u8, bool),
    /// A claim gets another owner.
    Own(u8, Holder),
    /// A claim is in use, or not any more. Nobody is asked; it is remembered.
    Mount(u8, bool),
    /// Somebody deletes a claim.
    Delete(u8),
    /// A claim that is being deleted and not in use is let go.
    Release(u8),
    /// The Gi that all claims together may ask for; 255 is no quota.
    Quota(u8),
    /// Whether the StorageClass lets volumes grow.
    Expandable(bool),
}
