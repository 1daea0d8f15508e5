//! Why no claim of a replica may be written, whatever its state: pause, partition, `OnDelete`.

use super::snapshot::{PodView, Snapshot};
use crate::api::Seconds;
use crate::templates::Strategy;

/// Why no claim of a replica may be written, even if it is outdated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restraint {
    /// The rollout is paused.
    Paused,
    /// `updateStrategy: OnDelete`: nobody has deleted the Pod since the target was first desired.
    OnDelete,
    /// The replica is below the partition.
    Partition,
}

/// Why no claim of the replica may be written, if so; `desired` is when the target was first desired.
///
/// With `OnDelete`, claims are written once the Pod was deleted by hand (KEP-4650): the Pod does not exist, is being
/// deleted, or was created later. A Pod that was created in the same second counts as older: nobody deletes a Pod that
/// fast, but sets are changed in the second in which they were created.
#[must_use]
pub fn find(snapshot: &Snapshot, desired: Seconds, ordinal: u32, pod: Option<&PodView>) -> Option<Restraint> {
    let set = &snapshot.set;
    if set.paused {
        return Some(Restraint::Paused);
    }
    match set.strategy {
        // No Pod may be deleted before the set is replaced.
        Strategy::OnDelete if !set.replaces_pods() => None,
        Strategy::OnDelete => {
            let stays = pod.is_some_and(|pod| pod.deleted.is_none() && pod.created <= desired);
            stays.then_some(Restraint::OnDelete)
        }
        Strategy::RollingUpdate | Strategy::Recreate => set.is_below_partition(ordinal).then_some(Restraint::Partition),
    }
}
