//! The memory of a controller between two reconciles: that of the product, about the objects of the model.
//!
//! The clock of the model stands still at [`CLOCK`]. Time passes in that the times that are remembered move back.

use std::sync::Arc;

use crate::api::Seconds;
use crate::rollout::Refusal;
use crate::rollout::machine::{Kinds, SetMemory, Settled};
use crate::sim::clock::{CLOCK, earlier};
use crate::sim::objects::{Age, ClaimObject, ModelTarget, ReportObject, SLOTS, SetObject, Uid, Version};
use crate::sim::planted::Planted;
use crate::sim::write::DenialCause;

/// The objects of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OfModel;

/// The uid of a claim, and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ClaimKey {
    pub(crate) slot: u8,
    pub(crate) uid: Uid,
}

/// A claim in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotClaim {
    pub(crate) slot: u8,
    pub(crate) claim: ClaimObject,
}

/// What was written, by its kind, and the version of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WriteKey {
    pub(crate) kind: u8,
    pub(crate) version: Version,
}

/// An apply that was denied.
pub(crate) type DeniedApply = Refusal<ModelTarget, Version, DenialCause>;

impl Kinds for OfModel {
    type Uid = ClaimKey;
    type Version = Version;
    type Write = WriteKey;
    type Label = ModelTarget;
    type Cause = DenialCause;
    type Claim = SlotClaim;
    type Report = ReportObject;
    /// Only whether one was shown.
    type ReportUid = ();
    type Basis = (SetObject, Version);

    fn uid(claim: &SlotClaim) -> ClaimKey {
        ClaimKey {
            slot: claim.slot,
            uid: claim.claim.uid,
        }
    }

    fn version(claim: &SlotClaim) -> Version {
        claim.claim.version
    }

    fn has_label(claim: &SlotClaim, label: &ModelTarget) -> bool {
        claim.claim.revision == Some(*label)
    }

    fn is_older(seen: &Version, written: &Version) -> bool {
        seen < written
    }

    fn report_uid(_: &ReportObject) -> Option<()> {
        Some(())
    }

    fn report_version(report: &ReportObject) -> Version {
        report.version
    }

    fn changed_by_others() -> DenialCause {
        DenialCause::Changed
    }

    fn not_answered() -> DenialCause {
        DenialCause::NotAnswered
    }
}

/// The memory of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InstanceMemory {
    /// The uid of the set.
    pub(crate) of: Uid,
    pub(crate) known: SetMemory<OfModel>,
}

impl InstanceMemory {
    /// Nothing is known about the set of this uid.
    pub(crate) fn of(uid: Uid) -> Self {
        Self {
            of: uid,
            ..Self::default()
        }
    }

    /// The denied apply to the claim in this slot.
    pub(crate) fn denial(&self, slot: usize, uid: Uid) -> Option<&DeniedApply> {
        let slot = u8::try_from(slot).ok()?;
        self.known.denials.get(&ClaimKey { slot, uid })
    }

    /// True iff a denied apply to a claim in this slot is known.
    pub(crate) fn has_denial(&self, slot: usize) -> bool {
        self.known.denials.keys().any(|key| usize::from(key.slot) == slot)
    }

    /// True iff a write that failed is to be tried again later.
    pub(crate) fn has_pause(&self) -> bool {
        let known = &self.known;
        !known.denials.is_empty() || known.undone.is_some() || known.write_denied.is_some()
    }

    /// The times that are remembered.
    fn times(&mut self) -> impl Iterator<Item = &mut Seconds> {
        let known = &mut self.known;
        let denials = known.denials.values_mut().map(|denial| &mut denial.last);
        let applies = known.applies.values_mut().map(|apply| &mut apply.at);
        let overtaken = known.overtaken.values_mut().map(|(_, since)| since);
        let faults = [&mut known.undone, &mut known.write_denied].into_iter().flatten();
        let faults = faults.map(|fault| &mut fault.last);
        let ended = known.ended.iter_mut().map(|(_, at)| at);
        denials.chain(applies).chain(overtaken).chain(faults).chain(ended)
    }

    /// Some seconds pass.
    pub(crate) fn pass(memory: &mut Arc<Self>, seconds: Age) -> bool {
        let known = &memory.known;
        let is_timeless = known.denials.is_empty()
            && known.applies.is_empty()
            && known.overtaken.is_empty()
            && known.undone.is_none()
            && known.write_denied.is_none()
            && known.ended.is_none();
        if is_timeless {
            return false;
        }
        let times = Arc::make_mut(memory);
        times.times().for_each(|time| *time = earlier(*time, seconds));
        true
    }

    /// Everything that a settled set depends on. A planted bug counts every change of the set.
    pub(crate) fn basis(
        set: &SetObject,
        report: Option<ReportObject>,
        planted: Option<Planted>,
    ) -> (SetObject, Version) {
        let version = match planted {
            Some(Planted::StatusUnsettles) => set.version,
            _ => 0,
        };
        let basis = SetObject { version, ..set.basis() };
        (basis, report.map_or(0, |report| report.version))
    }

    /// Nothing is left to do.
    pub(crate) fn settle(&mut self, basis: (SetObject, Version)) {
        self.known.settle(Settled::since(CLOCK, "default", basis));
    }

    /// Replaces outdated claims by remembered replies, and forgets replies that the watch has shown.
    pub(crate) fn overlay(memory: &mut Arc<Self>, claims: &mut [Option<ClaimObject>; SLOTS]) {
        let known = &memory.known;
        let is_blank = known.written.is_empty()
            && known.denials.is_empty()
            && known.applies.is_empty()
            && known.unanswered.is_empty();
        if is_blank {
            return;
        }
        let slots = (0..).zip(claims.iter()).filter_map(|(slot, claim)| {
            let claim = (*claim)?;
            Some(SlotClaim { slot, claim })
        });
        let mut seen: Vec<SlotClaim> = slots.collect();
        Arc::make_mut(memory).known.overlay(seen.iter_mut(), CLOCK);
        for SlotClaim { slot, claim } in seen {
            claims[usize::from(slot)] = Some(claim);
        }
    }

    /// Claims are not read, so nothing is known about them.
    pub(crate) fn forget_claims(memory: &mut Arc<Self>) {
        Self::overlay(memory, &mut [None; SLOTS]);
    }

    /// The latest known report: from the watch, or as last written.
    pub(crate) fn latest(memory: &mut Arc<Self>, seen: Option<ReportObject>) -> Option<ReportObject> {
        let known = &memory.known;
        if known.rollout.is_none() && (seen.is_none() || known.shown.is_some()) {
            return seen;
        }
        Arc::make_mut(memory).known.latest(seen)
    }
}
