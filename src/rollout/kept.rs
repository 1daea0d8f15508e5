//! What keeps the claims of a replica from being written, whatever they are: pause, partition, `OnDelete`.

use super::snapshot::{PodView, Seconds, Snapshot, Strategy};

/// Why no claim of a replica is written although it may be behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The user said so.
    Paused,
    /// `updateStrategy: OnDelete`: nobody has deleted its Pod since the wish was first seen.
    OnDelete,
    /// It is below the user's partition.
    Partition,
}

/// What keeps the claims of a replica from being written, if anything does; `desired` is when the wish was first seen.
///
/// With `OnDelete` they are written once the Pod was deleted by hand (KEP-4650): it is gone or going, or was made since.
/// Times are in seconds. One made in the very second in which the wish was first seen counts as older: nobody deletes that
/// fast, but sets are changed in the second in which they were made.
#[must_use]
pub fn kept(snapshot: &Snapshot, desired: Seconds, ordinal: u32, pod: Option<&PodView>) -> Option<Kept> {
    let set = &snapshot.set;
    if set.paused {
        return Some(Kept::Paused);
    }
    match set.strategy {
        Strategy::OnDelete => {
            let stays = pod.is_some_and(|pod| pod.deleted.is_none() && pod.created <= desired);
            stays.then_some(Kept::OnDelete)
        }
        Strategy::RollingUpdate | Strategy::Recreate => set.is_below_partition(ordinal).then_some(Kept::Partition),
    }
}
