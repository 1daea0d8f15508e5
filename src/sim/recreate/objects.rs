//! The objects.

/// The most replicas.
pub(super) const MOST: usize = 3;

/// The most VolumeSnapshots.
pub(super) const MOST_SNAPSHOTS: usize = 4;

/// What a PVC is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MadeFrom {
    /// The live templates.
    Old,
    /// Restored into another class long before the change.
    Restored,
    /// The desired templates, with the label of this staging.
    Desired(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewClaim {
    /// The number of objects before; also its uid.
    pub(super) number: u8,
    pub(super) version: u8,
    pub(super) created: u32,
    pub(super) from: MadeFrom,
    pub(super) is_bound: bool,
    pub(super) is_terminating: bool,
    /// The staging in our mark.
    pub(super) mark: Option<u8>,
    pub(super) is_foreign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewPod {
    pub(super) uid: u8,
    /// The number of its PVC, and when that was created.
    pub(super) of: (u8, u32),
    pub(super) is_ready: bool,
    pub(super) is_terminating: bool,
}

/// PVCs and Pods by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewObjects {
    pub(super) claims: [Option<AnewClaim>; MOST],
    pub(super) pods: [Option<AnewPod>; MOST],
}

/// The identity of a VolumeSnapshot: the index and the number of its PVC, the staging, and its own number.
pub(super) type SnapshotName = (usize, u8, u8, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewSnapshot {
    pub(super) name: SnapshotName,
    pub(super) class: u8,
    pub(super) taken: u32,
    pub(super) is_ready: bool,
}

/// A write of ours that was decided: the index, the number or uid, the version, and the staging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnewStep {
    /// The staging, and the time by the clock of the controller.
    SeenAt(u8, u32),
    Apply(usize, u8, u8, u8),
    Mark(usize, u8, u8, u8),
    Unmark(usize, u8, u8),
    Delete(usize, u8, u8, u8),
    Evict(usize, u8, u8),
    Snapshot(SnapshotName, u8),
    Complete,
}

impl AnewStep {
    const KINDS: [&str; 8] = [
        "SeenAt", "Apply", "Mark", "Unmark", "Delete", "Evict", "Snapshot", "Complete",
    ];

    /// The place of its name among the kinds.
    pub(super) const fn kind(self) -> u8 {
        match self {
            Self::SeenAt(..) => 0,
            Self::Apply(..) => 1,
            Self::Mark(..) => 2,
            Self::Unmark(..) => 3,
            Self::Delete(..) => 4,
            Self::Evict(..) => 5,
            Self::Snapshot(..) => 6,
            Self::Complete => 7,
        }
    }

    /// The kinds without a bit.
    pub(super) fn never(kinds: u8) -> Vec<&'static str> {
        let kinds = Self::KINDS
            .into_iter()
            .enumerate()
            .filter(|(place, _)| kinds & 1 << place == 0);
        kinds.map(|(_, name)| name).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnewAction {
    FailPod(usize),
    DeletePod(usize),
    DeleteClaim(usize),
    TakeClaimOver(usize),
    Pause,
    Continue,
    SwitchOff,
    UseBudget,
    FreeBudget,
    RemovePolicy,
    Withdraw,
    StageAgain,
    /// Another VolumeSnapshotClass is asked for.
    OtherClass,
    /// The ClaimRollout is deleted.
    DeleteReport,
    /// Hours pass.
    Wait,
}
