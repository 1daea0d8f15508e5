//! The actions of users and of their tools.

use crate::sim::api::WebhookEdit;
use crate::sim::objects::ModelTarget;
use crate::templates::UpdatePolicy;

/// A user action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UserAction {
    /// Applies a manifest with these templates.
    Target(ModelTarget),
    /// Applies a manifest with this image.
    Image(u8),
    /// Applies a manifest with these templates and this image.
    Both(ModelTarget, u8),
    /// GitOps applies the manifest in the repository again.
    Reapply,
    Scale(u8),
    Partition(u8),
    Pause(bool),
    Policy(Option<UpdatePolicy>),
    Async(bool),
    OnDelete(bool),
    /// Writes the staged revision into the annotation `withdraw`.
    Withdraw,
    /// Changes the size of a claim, up or down.
    Size(u8, u8),
    /// Gives a claim another attributes class.
    Class(u8, u8),
    /// Removes our label from a claim.
    DropLabel(u8),
    /// Adds or removes the selector's label on a claim.
    Select(u8, bool),
    /// Gives a claim a foreign owner, or none.
    Own(u8, bool),
    /// Mounts a claim in a foreign Pod, or unmounts it.
    Mount(u8, bool),
    DeleteClaim(u8),
    DeletePod(u8),
    /// Drains a node: the Pod gets the condition `DisruptionTarget`.
    Drain(u8),
    /// The Pod fails and is not restarted.
    Fail(u8),
    /// Fills the disk of a Pod.
    FillDisk(u8),
    /// Frees space on that disk.
    FreeDisk(u8),
    /// Deletes the set; `true` orphans the dependents.
    DeleteSet(bool),
    /// Creates the set from the repository, with so many replicas.
    CreateSet(u8),
    /// Creates or deletes a set whose claims have the same names.
    Sibling(bool),
    /// Adds or removes an owner of the set.
    Owned(bool),
    Quota(u8),
    Expandable(bool),
    /// Sets the largest volume that the driver supports.
    Limit(u8),
    /// Sets the class that the driver does not know.
    BadClass(u8),
    /// Whether the driver expands only what no Pod uses.
    Offline(bool),
    /// Registers or unregisters the policy.
    Registered(bool),
    /// Adds the account of our controller to the settings of the policy, or removes it.
    Known(bool),
    /// Changes what a webhook does to applies on claims.
    Webhook(WebhookEdit),
    /// Whether reports can be written.
    Reports(bool),
    /// Deletes the ClaimRollout, perhaps with its definition.
    DeleteReport,
    /// Whether a newer version of the policy wrote what is staged, as during an upgrade.
    Newer(bool),
    /// Writes a staged change. Without the policy, nothing checks it.
    Forge(ModelTarget),
    /// Writes the staged change of a previous set.
    Replay,
}
