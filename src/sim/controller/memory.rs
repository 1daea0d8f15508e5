//! The memory of a controller between two reconciles: that of the product, about the objects of the model.
//!
//! The clock of the model stands still at [`CLOCK`]. Time passes in that the times that are remembered move back.

use std::sync::Arc;

use crate::api::Seconds;
use crate::rollout::Refusal;
use crate::rollout::invariants::{Broken, s12_knows_replies};
use crate::rollout::machine::{Kinds, QuotaRead, SetMemory, Settled, WATCH_LAG, WrittenObject};
use crate::sim::api::Api;
use crate::sim::clock::{CLOCK, earlier};
use crate::sim::objects::{Age, ClaimObject, ModelTarget, ReportObject, SLOTS, SetObject, Uid, Version};
use crate::sim::planted::Planted;
use crate::sim::room::{QuotaRoom, quotas, room};
use crate::sim::write::{DenialCause, Write};
use crate::templates::Revision;

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
    type ReportUid = Uid;
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

    fn report_uid(report: &ReportObject) -> Option<Uid> {
        Some(report.uid)
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
    /// How many reconciles in a row failed.
    pub(crate) failed: u8,
    /// What the replies to writes have shown, to judge the next writes.
    pub(crate) replies: KnownReplies,
}

/// What the replies to writes of a controller have shown. In an exploration nothing is noted: it has many pasts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct KnownReplies {
    /// The uid and version of each claim, by slot.
    claims: [Option<(Uid, Version)>; SLOTS],
    /// The uid and version of the set after the rollout was complete, and when.
    completed: Option<(Uid, Version, Seconds)>,
    /// The watches read from an API server that was behind: they may show a set from before any reply.
    pub(crate) is_behind: bool,
}

impl KnownReplies {
    /// Keeps the reply to a write that is stored.
    pub(crate) fn note(&mut self, write: &Write, after: &Api) {
        match write {
            Write::Apply(apply) => {
                let slot = usize::from(apply.slot);
                let claim = after.claims[slot].filter(|claim| apply.is_in(claim));
                self.claims[slot] = claim.map(|claim| (claim.uid, claim.version)).or(self.claims[slot]);
            }
            Write::StagedChange {
                change: Some(change), ..
            } if change.complete && !self.is_behind => {
                let set = after.set.filter(|set| write.is_in(set));
                self.completed = set.map(|set| (set.uid, set.version, CLOCK));
            }
            _ => {}
        }
    }

    /// Nothing, for watches that begin again at an API server that is behind.
    pub(crate) fn behind() -> Self {
        Self {
            is_behind: true,
            ..Self::default()
        }
    }

    /// S12: no write names a version that a reply has shown to be outdated. A watch may be late for a while only, and the
    /// clock may be set back.
    pub(crate) fn judge(&self, write: &Write) -> Result<(), Broken> {
        let (uid, version, known) = match *write {
            Write::Apply(apply) => (apply.uid, apply.version, self.claims[usize::from(apply.slot)]),
            Write::StagedChange { uid, version, .. } | Write::Ready { uid, version, .. } => {
                let recent = self.completed.filter(|(.., at)| (*at..at + WATCH_LAG).contains(&CLOCK));
                (uid, version, recent.map(|(uid, version, _)| (uid, version)))
            }
            Write::Report { .. } | Write::Partition { .. } | Write::Delete { .. } => return Ok(()),
        };
        let known = known.filter(|(of, _)| uid == Some(*of));
        match version {
            Some(version) => s12_knows_replies(version.into(), known.map(|(_, version)| version.into())),
            None => Ok(()),
        }
    }
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

    /// True iff an apply to one of these claims, as it is, was answered with a conflict since a short time, and does not
    /// count as denied yet.
    pub(crate) fn is_overtaken(&self, claims: &[Option<ClaimObject>; SLOTS]) -> bool {
        let mut overtaken = self.known.overtaken.iter();
        overtaken.any(|(object, (write, since))| match object {
            WrittenObject::Claim(key) => {
                let claim = claims[usize::from(key.slot)];
                let is_same = claim.is_some_and(|claim| (claim.uid, claim.version) == (key.uid, write.version));
                is_same && *since + WATCH_LAG > CLOCK && !self.known.denials.contains_key(key)
            }
            _ => false,
        })
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
        let quotas = known.quotas.iter_mut().map(|read| &mut read.at);
        let completed = self.replies.completed.iter_mut().map(|(.., at)| at);
        let written = denials.chain(applies).chain(overtaken);
        written.chain(faults).chain(ended).chain(quotas).chain(completed)
    }

    /// Some seconds pass.
    pub(crate) fn pass(memory: &mut Arc<Self>, seconds: Age, planted: Option<Planted>) -> bool {
        let known = &memory.known;
        let is_timeless = known.denials.is_empty()
            && known.applies.is_empty()
            && known.overtaken.is_empty()
            && known.undone.is_none()
            && known.write_denied.is_none()
            && known.ended.is_none()
            && known.quotas.is_none()
            && memory.replies.completed.is_none();
        if is_timeless {
            return false;
        }
        let times = Arc::make_mut(memory);
        times.times().for_each(|time| *time = earlier(*time, seconds));
        if let Some(planted) = planted {
            planted.passes(&mut times.known);
        }
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
        let report = report.filter(|_| planted != Some(Planted::SettledWithoutReport));
        (basis, report.map_or(0, |report| report.version))
    }

    /// Nothing is left to do.
    pub(crate) fn settle(&mut self, basis: (SetObject, Version)) {
        self.known.settle(Settled::since(CLOCK, "default", basis));
        self.replies = KnownReplies::default();
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

    /// The quota was read for the rollout of this target: the Gi that it has left, if there is one.
    pub(crate) fn read_quota(&mut self, target: &ModelTarget, room: Option<u8>) {
        self.known.quotas = Some(Box::new(QuotaRead {
            revision: revision_of(target),
            at: CLOCK,
            quotas: quotas(Some(room)),
        }));
    }

    /// What is known of the quota for the rollout of this target: nothing, or the Gi that it has left, if there is one.
    pub(crate) fn room(&self, target: &ModelTarget) -> QuotaRoom {
        let read = self.known.quotas.as_ref()?;
        room(&read.of(&revision_of(target), CLOCK)?)
    }

    /// Claims are not read, so nothing is known about them.
    pub(crate) fn forget_claims(memory: &mut Arc<Self>) {
        if memory.replies != KnownReplies::default() {
            Arc::make_mut(memory).replies = KnownReplies::default();
        }
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

/// The revision of a target, for the quotas that were read for it.
fn revision_of(target: &ModelTarget) -> Revision {
    Revision::from_text(format!("{:?}", target.unstaged()))
}
