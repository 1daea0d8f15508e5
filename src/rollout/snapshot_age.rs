//! Which VolumeSnapshot of a PVC counts before the PVC is deleted.
//!
//! | the VolumeSnapshot | then |
//! |---|---|
//! | has the class that is asked for, is ready, was taken after the change was staged and in the last five minutes | the PVC may be deleted |
//! | is not ready, or its time is not known yet | wait: no second one is made |
//! | is older, of another class, or being deleted | another one is made, with the next number |
//! | failed, or is of another PVC, or its time has not come yet | stop |

use super::snapshot::Snapshot;
use super::volume_snapshot::{VolumeSnapshot, VolumeSnapshotAnswer};
use crate::api::Seconds;
use crate::claims::Claim;
use crate::gate::StagedAt;
use crate::templates::RevisionLabel;

/// For how many seconds a VolumeSnapshot counts after it was taken. It is also the most by which clocks may differ.
pub const FRESH: Seconds = 300;

/// The most VolumeSnapshots of a PVC and a staging. A driver that needs longer than [`FRESH`] would get one after the
/// other.
pub const MOST: u32 = 5;

/// What the VolumeSnapshots of a PVC need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotStep {
    /// This one counts: its name and its age.
    Counts(String, Seconds),
    /// This one has to be read.
    Ask(String),
    /// One of this name has to be created.
    Take(String),
    /// What is waited for.
    Wait(String),
    /// Why nothing goes on until somebody acts.
    Stop(String),
}

/// One VolumeSnapshot.
enum SnapshotAge {
    Counts(Seconds),
    Wait(String),
    Passed(String),
    Stop(String),
}

/// The name of a VolumeSnapshot of a PVC: another PVC of the same name has another one, and so has another staging.
#[must_use]
pub fn name(claim: &Claim, label: &RevisionLabel, number: u32) -> String {
    format!("{}-{label}-{number}", claim.uid)
}

/// What the VolumeSnapshots of this PVC need. Who made them does not matter.
///
/// They are read one after the other, up to the first that does not exist. So after a crash none is made twice, and one
/// that is slow is waited for.
#[must_use]
pub fn decide(snapshot: &Snapshot, claim: &Claim, label: &RevisionLabel, class: &str) -> SnapshotStep {
    let (mut waits, mut stops, mut passed) = (None, None, String::new());
    for number in 1..=MOST {
        let name = name(claim, label, number);
        match snapshot.recreate.volume_snapshots.get(&name) {
            None => return SnapshotStep::Ask(name),
            Some(VolumeSnapshotAnswer::Absent) => {
                let step = waits.map(SnapshotStep::Wait).or(stops.map(SnapshotStep::Stop));
                return step.unwrap_or(SnapshotStep::Take(name));
            }
            Some(VolumeSnapshotAnswer::Unreadable(why)) => {
                return SnapshotStep::Stop(format!("VolumeSnapshot {name} cannot be read: {why}"));
            }
            Some(VolumeSnapshotAnswer::Found(found)) => match age(snapshot, claim, class, found) {
                SnapshotAge::Counts(age) => return SnapshotStep::Counts(name, age),
                SnapshotAge::Wait(why) => waits = Some(format!("VolumeSnapshot {name}, {why}")),
                SnapshotAge::Stop(why) => stops = Some(format!("VolumeSnapshot {name} {why}")),
                SnapshotAge::Passed(why) => passed = format!("VolumeSnapshot {name} {why}"),
            },
        }
    }
    let step = waits.map(SnapshotStep::Wait).or(stops.map(SnapshotStep::Stop));
    step.unwrap_or_else(|| {
        let minutes = FRESH / 60;
        SnapshotStep::Stop(format!(
            "{passed}, and so are {MOST} in all, of which none may be older than {minutes} minutes: delete the \
             VolumeSnapshots that are not needed, and others are made"
        ))
    })
}

fn age(snapshot: &Snapshot, claim: &Claim, class: &str, found: &VolumeSnapshot) -> SnapshotAge {
    let now = snapshot.now;
    if found.claim != claim.name {
        return SnapshotAge::Stop("is of another PVC".to_owned());
    }
    if found.terminating {
        return SnapshotAge::Passed("is being deleted".to_owned());
    }
    if found.class.as_deref() != Some(class) {
        let other = found.class.as_deref().unwrap_or_default();
        return SnapshotAge::Passed(format!("has the class {other:?} instead of {class:?}"));
    }
    if let Some(why) = found.error.as_ref().filter(|_| !found.is_ready) {
        return SnapshotAge::Stop(format!("has an error: {why}"));
    }
    let taken = found.taken;
    if !found.is_ready {
        let since = taken.map(|taken| format!(", and was taken {} seconds ago", now.saturating_sub(taken)));
        return SnapshotAge::Wait(format!("which is not ready{}", since.unwrap_or_default()));
    }
    let Some(taken) = taken else {
        return SnapshotAge::Wait("whose status.creationTime is not known".to_owned());
    };
    if taken > now.saturating_add(FRESH) {
        let ahead = taken - now;
        return SnapshotAge::Stop(format!(
            "will be taken in {ahead} seconds: compare the clocks of the storage and the controller"
        ));
    }
    // An unknown time of the staging: nothing is deleted anyway.
    if !matches!(snapshot.set.staged_at, StagedAt::At(at) if taken > at) {
        return SnapshotAge::Passed("was taken before the change was staged".to_owned());
    }
    let age = now.saturating_sub(taken);
    if age > FRESH {
        return SnapshotAge::Passed(format!("is {age} seconds old"));
    }
    SnapshotAge::Counts(age)
}
