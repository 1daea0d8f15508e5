//! The state of a StatefulSet between two reconciles: replies that the watches do not show yet, and denied writes.
//!
//! Correctness does not depend on it. A controller that has just started has none of it, and is safe through the
//! checks of the API server: uid, resourceVersion, and an apply without a change writes nothing.

use std::collections::BTreeMap;

use super::claim_events::ClaimEvents;
use super::kinds::Kinds;
use super::last_applies;
use super::last_applies::LastApply;
use super::quota_read::QuotaRead;
use super::retried_write::RetriedWrite;
use super::settled::Settled;
use crate::api::Seconds;
use crate::rollout::early_pods::WaitingPods;
use crate::rollout::milestones::Milestones;
use crate::rollout::{ClaimProgress, Refusal};

/// Seconds after which the watch must have shown a write; otherwise it is broken.
pub const WATCH_LAG: Seconds = 30;

/// For how many seconds a write that was decided for the same version of an object may be answered as overtaken.
const OVERTAKEN: Seconds = 30;

/// After how many seconds such an answer is reported.
const LATE: Seconds = 3;

/// The longest pause after a failed reconcile in seconds, unless the API server asks for more.
const MAX_BACKOFF: u32 = 60;

/// The longest pause that is kept because the API server asks for it. A webhook that denies a request also answers in its
/// name, with any number (kubernetes/kubernetes, `ToStatusErr` of `apiserver/pkg/admission/plugin/webhook/errors`).
const MAX_REQUESTED: u32 = 300;

/// An object that is written. The Pods of a set are evicted one at a time, and the steps of a re-creation follow one
/// another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrittenObject<U> {
    /// The set.
    Set,
    /// A Pod that is evicted.
    Evicted,
    /// What a re-creation writes.
    ReCreated,
    /// The PVC of this uid.
    Claim(U),
}

/// The state of one set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetMemory<K: Kinds> {
    /// The replies to applies that the watch does not show yet, by uid of the PVC.
    pub(crate) written: BTreeMap<K::Uid, K::Claim>,
    /// The applies of this rollout, which somebody may undo, by uid of the PVC.
    pub(crate) applies: BTreeMap<K::Uid, LastApply<K::Label, K::Version>>,
    /// The ClaimRollout as last written, until the watch shows it.
    pub(crate) rollout: Option<K::Report>,
    /// The uid of the last ClaimRollout that the watch has shown.
    pub(crate) shown: Option<K::ReportUid>,
    /// When the ClaimRollout was last written.
    pub reported_at: Option<Seconds>,
    /// State, reason and message of PVCs for which the report has no room, by name.
    pub unlisted: BTreeMap<String, (String, String, String)>,
    /// How often in a row the target could not be written to the history because another object has its name.
    pub unkept: u32,
    /// Set when nothing was left to do.
    pub settled: Option<Settled<K::Basis>>,
    /// The resourceVersion of the set before the completion was written to it, and the time of the write.
    pub ended: Option<(K::Version, Seconds)>,
    /// Denied applies, by uid of the PVC.
    #[expect(
        clippy::type_complexity,
        reason = "a derived trait finds its bounds in the types of fields only"
    )]
    pub denials: BTreeMap<K::Uid, Refusal<K::Label, K::Version, K::Cause>>,
    /// When PVCs were modified, by uid. The watch may not show these writes yet.
    pub modified: BTreeMap<String, Vec<Seconds>>,
    /// The quotas of the namespace, before the first write of a rollout. Boxed, because few sets have them.
    pub quotas: Option<Box<QuotaRead>>,
    /// Events about slow PVCs.
    pub claim_events: ClaimEvents,
    /// The Pods that waited for their PVCs when they were seen last.
    pub waiting_pods: WaitingPods,
    /// What the rollout had reached when it was last reported.
    pub milestones: Milestones,
    /// The number of failed reconciles in a row.
    pub failures: u32,
    /// The last write to the set, if somebody undid it.
    pub undone: Option<RetriedWrite>,
    /// The last write to the set, if it was denied.
    pub write_denied: Option<RetriedWrite>,
    /// The last eviction of a Pod, if it was denied.
    pub not_evicted: Option<RetriedWrite>,
    /// The last step of a re-creation, if it was denied.
    pub not_recreated: Option<RetriedWrite>,
    /// The last write to each object, if the answer was that the object has changed or does not exist: what was written,
    /// with the version of the object, and when that was answered first.
    pub(crate) overtaken: BTreeMap<WrittenObject<K::Uid>, (K::Write, Seconds)>,
    /// How often in a row a write of each object was not answered.
    pub(crate) unanswered: BTreeMap<WrittenObject<K::Uid>, u8>,
    /// The hash of the last request of a user to try again.
    pub(crate) asked: Option<u64>,
    /// What has become of it.
    pub retry: Retry,
}

/// What has become of a request to try again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Retry {
    /// There is none, or it was removed.
    #[default]
    Answered,
    /// What was tried again is not reported yet.
    Begun,
    /// It is reported.
    Reported,
}

impl<K: Kinds> Default for SetMemory<K> {
    fn default() -> Self {
        Self {
            written: BTreeMap::new(),
            applies: BTreeMap::new(),
            rollout: None,
            shown: None,
            reported_at: None,
            unlisted: BTreeMap::new(),
            unkept: 0,
            settled: None,
            ended: None,
            denials: BTreeMap::new(),
            modified: BTreeMap::new(),
            quotas: None,
            claim_events: ClaimEvents::new(),
            waiting_pods: WaitingPods::new(),
            milestones: Milestones::default(),
            failures: 0,
            undone: None,
            write_denied: None,
            not_evicted: None,
            not_recreated: None,
            overtaken: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            asked: None,
            retry: Retry::default(),
        }
    }
}

impl<K: Kinds> SetMemory<K> {
    /// Stores the reply to a write of a PVC.
    pub fn applied(&mut self, claim: K::Claim) {
        let uid = K::uid(&claim);
        self.denials.remove(&uid);
        let object = WrittenObject::Claim(uid.clone());
        self.overtaken.remove(&object);
        self.unanswered.remove(&object);
        self.written.insert(uid, claim);
    }

    /// Retries at once the denied applies that pass now. The backoff continues if one is denied again.
    pub fn retry_now(&mut self, passes: impl Fn(&K::Uid, &Refusal<K::Label, K::Version, K::Cause>) -> bool) {
        let due = self.denials.iter_mut().filter(|(claim, denial)| passes(claim, denial));
        due.for_each(|(_, denial)| denial.last = 0);
    }

    /// Ends all pauses after failures if this request to try again is new. Returns whether it is. A pause continues to
    /// double if the write fails again.
    pub fn retry_if_new(&mut self, asked: Option<u64>) -> bool {
        let is_new = asked.is_some() && asked != self.asked;
        self.asked = asked;
        if asked.is_none() {
            self.retry = Retry::Answered;
        }
        if is_new {
            self.retry = Retry::Begun;
            self.end_pauses();
        }
        is_new
    }

    /// Ends all pauses after failures.
    pub(crate) fn end_pauses(&mut self) {
        self.retry_now(|_, _| true);
        self.failed_writes().for_each(RetriedWrite::retry_now);
        self.quotas = None;
    }

    /// The writes that failed, but for those of PVCs.
    pub(crate) fn failed_writes(&mut self) -> impl Iterator<Item = &mut RetriedWrite> {
        let faults = [&mut self.undone, &mut self.write_denied, &mut self.not_evicted];
        faults.into_iter().chain([&mut self.not_recreated]).flatten()
    }

    /// Notes that a request to try again, if there is one, is reported.
    pub fn retry_is_reported(&mut self) {
        if self.retry == Retry::Begun {
            self.retry = Retry::Reported;
        }
    }

    /// Stores the ClaimRollout that was written.
    pub fn reported(&mut self, rollout: K::Report, now: Seconds) {
        self.rollout = Some(rollout);
        self.reported_at = Some(now);
    }

    /// Stores the state of PVCs for which the report has no room.
    pub fn remember_unlisted(&mut self, unlisted: &[ClaimProgress]) {
        let known = unlisted.iter().map(|claim| {
            let state = (claim.state.to_string(), claim.reason.clone(), claim.message.clone());
            (claim.name.clone(), state)
        });
        self.unlisted = known.collect();
    }

    /// Drops the ClaimRollout that was last written: the failed write may mean that it has changed.
    pub fn report_failed(&mut self) {
        self.rollout = None;
    }

    /// The reconcile failed. Returns the pause until the next one: a second, doubling up to a minute, or as the API
    /// server asks, up to five minutes.
    pub fn failed(&mut self, requested: u32) -> Seconds {
        self.failures = self.failures.saturating_add(1);
        let pause = (1_u32 << (self.failures - 1).min(6)).min(MAX_BACKOFF);
        pause.max(requested.min(MAX_REQUESTED)).into()
    }

    /// The reconcile did not fail.
    pub const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The rollout is complete, as the set in this version does not show yet. Returns for how many seconds the watch may
    /// still show the set as it was before the write.
    pub fn end(&mut self, version: K::Version, now: Seconds) -> Seconds {
        self.ended = Some((version, now));
        WATCH_LAG
    }

    /// For how many seconds no reconcile is needed. Either the watch shows the set as it was before the completion was
    /// written, so that a reconcile would repeat the write and get a conflict; or nothing is left to do.
    #[must_use]
    pub fn rests(
        &self,
        version: Option<&K::Version>,
        basis: impl FnOnce() -> K::Basis,
        now: Seconds,
    ) -> Option<Seconds> {
        let is_ending = || {
            let (seen, at) = self.ended.as_ref()?;
            let left = at.saturating_add(WATCH_LAG).checked_sub(now);
            let left = left.filter(|left| (1..=WATCH_LAG).contains(left));
            left.filter(|_| version == Some(seen))
        };
        is_ending().or_else(|| self.settled?.rests(now, basis()))
    }

    /// Nothing is left to do for the set: drops everything that only a rollout needs.
    pub fn settle(&mut self, settled: Settled<K::Basis>) {
        self.settled = Some(settled);
        self.written.clear();
        self.applies.clear();
        self.denials.clear();
        self.quotas = None;
        self.modified.clear();
        self.claim_events.clear();
        self.waiting_pods.clear();
        self.unlisted.clear();
        self.milestones = Milestones::default();
        self.reported_at = None;
        self.ended = None;
        self.write_denied = None;
        self.overtaken.clear();
        self.unanswered.clear();
    }

    /// Notes that a write of the object was not answered. Returns true iff that has been so for about a minute, of this
    /// write or of another one of the set, or the write was denied before. Failures of other requests do not count.
    pub(super) fn is_unanswered(&mut self, object: &WrittenObject<K::Uid>) -> bool {
        let is_long = self.unanswered.values().any(|count| *count >= Refusal::UNANSWERED);
        let count = self.unanswered.entry(object.clone()).or_default();
        *count = count.saturating_add(1);
        let is_denied = matches!(object, WrittenObject::Claim(uid) if self.denials.contains_key(uid));
        is_long || is_denied
    }

    /// True iff the last write to the object was this one, for the same version.
    pub(super) fn is_repeated(&self, object: &WrittenObject<K::Uid>, write: &K::Write) -> bool {
        self.overtaken.get(object).is_some_and(|(known, _)| known == write)
    }

    /// Notes that a write to an object was overtaken. Returns true iff it has been answered like this for a while, and
    /// nothing has changed: then it is a denial like any other.
    pub(super) fn is_stuck(&mut self, object: &WrittenObject<K::Uid>, write: &K::Write, now: Seconds) -> bool {
        match self.overtaken.get(object) {
            // The clock may have been set back.
            Some((known, since)) if known == write && *since <= now => since.saturating_add(OVERTAKEN) <= now,
            _ => {
                self.overtaken.insert(object.clone(), (write.clone(), now));
                false
            }
        }
    }

    /// True iff a write has been answered as overtaken for longer than a watch usually takes.
    #[must_use]
    pub fn is_late(&self, now: Seconds) -> bool {
        self.overtaken
            .values()
            .any(|(_, since)| since.saturating_add(LATE) <= now)
    }

    /// Replaces PVCs that are older than our last write with its reply, and forgets replies that the watch has caught
    /// up with. An apply that somebody undid since counts as denied.
    pub fn overlay<'c>(&mut self, claims: impl Iterator<Item = &'c mut K::Claim>, now: Seconds)
    where
        K::Claim: 'c,
    {
        let mut seen: BTreeMap<K::Uid, &mut K::Claim> = claims.map(|claim| (K::uid(claim), claim)).collect();
        self.written.retain(|uid, written| match seen.get_mut(uid) {
            Some(claim) if K::is_older(&K::version(claim), &K::version(written)) => {
                (*claim).clone_from(written);
                true
            }
            _ => false,
        });
        self.denials.retain(|uid, _| seen.contains_key(uid));
        self.unanswered.retain(|object, _| match object {
            WrittenObject::Claim(uid) => seen.contains_key(uid),
            _ => true,
        });
        let claims = seen.values().map(|claim| &**claim);
        let undone = last_applies::find_undone::<K>(&mut self.applies, claims, &self.denials, now);
        self.denials.extend(undone);
    }

    /// The newest known ClaimRollout: the one in the watch, or the one that was last written.
    ///
    /// One that was written and never seen has just been created; one that was seen and is missing was deleted.
    pub fn latest(&mut self, seen: Option<K::Report>) -> Option<K::Report> {
        if let Some(seen) = &seen {
            self.shown = K::report_uid(seen);
        }
        let written = self.rollout.take();
        let is_newer = |written: &K::Report| match &seen {
            Some(seen) => K::is_older(&K::report_version(seen), &K::report_version(written)),
            None => self.shown != K::report_uid(written),
        };
        let Some(written) = written.filter(|written| is_newer(written)) else {
            return seen;
        };
        self.rollout = Some(written.clone());
        Some(written)
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
