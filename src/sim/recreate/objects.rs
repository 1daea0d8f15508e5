//! The objects.

use crate::rollout::invariants::AcceptedFacts;

/// The most replicas.
pub(super) const MOST: usize = 3;

/// Which templates a PVC was created from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MadeFrom {
    /// Those before the change.
    Old,
    /// The desired ones, with the revision.
    Desired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewClaim {
    /// The number of PVCs of this name before; also its uid and the time of its creation.
    pub(super) number: u8,
    pub(super) version: u8,
    pub(super) from: MadeFrom,
    pub(super) is_bound: bool,
    pub(super) is_terminating: bool,
    pub(super) is_marked: bool,
    pub(super) is_foreign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewPod {
    pub(super) uid: u8,
    /// The number of its PVC.
    pub(super) of: u8,
    pub(super) is_ready: bool,
    pub(super) is_terminating: bool,
}

/// PVCs and Pods by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewObjects {
    pub(super) claims: [Option<AnewClaim>; MOST],
    pub(super) pods: [Option<AnewPod>; MOST],
}

impl AnewObjects {
    pub(super) fn facts(&self, index: usize) -> AcceptedFacts {
        let claim = self.claims[index];
        claim.map_or_else(AcceptedFacts::default, |claim| AcceptedFacts {
            is_ours: !claim.is_foreign,
            differs: claim.from == MadeFrom::Old,
            is_new: claim.number > 0,
            is_marked: claim.is_marked,
            is_terminating: claim.is_terminating,
        })
    }
}

/// A write of ours that was decided: the index, the number or uid, and the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnewStep {
    Mark(usize, u8, u8),
    Unmark(usize, u8, u8),
    Delete(usize, u8, u8),
    Evict(usize, u8),
    Snapshot(usize, u8),
    Complete,
}

/// A controller of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewProcess {
    /// What its watches have shown.
    pub(super) seen: AnewObjects,
    pub(super) step: Option<AnewStep>,
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
}
