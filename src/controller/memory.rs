//! The state of a StatefulSet between two reconciles: replies that the watches do not show yet, and denied writes.
//!
//! Correctness does not depend on it. A controller that has just started has none of it, and is safe through the
//! checks of the API server: uid, resourceVersion, and an apply without a change writes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kube::ResourceExt;

use super::claim_events::ClaimEvents;
use super::crd::ClaimRollout;
use super::known_quotas::QuotaRead;
use super::settled::Settled;
use super::undone::Undone;
use super::undone_later::{LastApplies, is_older};
use crate::claims::Claim;
use crate::rollout::early::WaitingPods;
use crate::rollout::reached::Reached;
use crate::rollout::{ApplyClaim, ClaimProgress, Refusal, Seconds};

/// The set, among the objects that are written.
pub(super) const SET: &str = "set";

/// For how many seconds a write that was decided for the same version of an object may be answered as overtaken.
const OVERTAKEN: Seconds = 30;

/// After how many seconds such an answer is reported.
const LATE: Seconds = 3;

/// The memory of one set, small while it is settled: most sets are, and there are thousands.
#[derive(Debug)]
pub(super) enum Remembered {
    /// Nothing is left to do. The uid is that of the last ClaimRollout that the watch has shown.
    Settled(Settled, Option<String>),
    /// Everything else.
    Whole(Box<SetMemory>),
}

impl Default for Remembered {
    fn default() -> Self {
        Self::Whole(Box::default())
    }
}

impl Remembered {
    /// Reads or changes the memory.
    pub(super) fn with<T>(&mut self, then: impl FnOnce(&mut SetMemory) -> T) -> T {
        match self {
            Self::Whole(memory) => {
                let result = then(memory);
                if let Some(settled) = memory.only_settled() {
                    *self = Self::Settled(settled, memory.shown.take());
                }
                result
            }
            Self::Settled(settled, shown) => {
                let mut memory = SetMemory {
                    settled: Some(*settled),
                    shown: shown.take(),
                    ..SetMemory::default()
                };
                let result = then(&mut memory);
                *self = match memory.only_settled() {
                    Some(settled) => Self::Settled(settled, memory.shown),
                    None => Self::Whole(Box::new(memory)),
                };
                result
            }
        }
    }
}

/// The state of one set.
#[derive(Debug, Default)]
pub(super) struct SetMemory {
    /// The replies to applies that the watch does not show yet, by uid of the PVC.
    written: HashMap<String, Claim>,
    /// The applies of this rollout, which somebody may undo.
    pub(super) applies: LastApplies,
    /// The ClaimRollout as last written, until the watch shows it.
    rollout: Option<Arc<ClaimRollout>>,
    /// When the ClaimRollout was last written.
    pub(super) reported_at: Option<Seconds>,
    /// State, reason and message of PVCs for which the report has no room, by name.
    pub(super) unlisted: BTreeMap<String, (String, String, String)>,
    /// How often in a row the target could not be written to the history because another object has its name.
    pub(super) unkept: u32,
    /// The uid of the last ClaimRollout that the watch has shown.
    shown: Option<String>,
    /// Set when nothing was left to do.
    pub(super) settled: Option<Settled>,
    /// The resourceVersion of the set before the completion was written to it, and the time of the write.
    pub(super) ended: Option<(String, Seconds)>,
    /// Denied applies, by uid of the PVC.
    pub(super) denials: BTreeMap<String, Refusal>,
    /// When PVCs were modified, by uid. The watch may not show these writes yet.
    pub(super) modified: BTreeMap<String, Vec<Seconds>>,
    /// The quotas of the namespace, before the first write of a rollout. Boxed, because few sets have them.
    pub(super) quotas: Option<Box<QuotaRead>>,
    /// Events about slow PVCs.
    pub(super) claim_events: ClaimEvents,
    /// The Pods that waited for their PVCs when they were seen last.
    pub(super) kept_pods: WaitingPods,
    /// What the rollout had reached when it was last reported.
    pub(super) reached: Reached,
    /// The number of failed reconciles in a row.
    pub(super) failures: u32,
    /// The last write to the set, if somebody undid it.
    pub(super) undone: Option<Undone>,
    /// The last write to the set, if it was denied.
    pub(super) write_denied: Option<Undone>,
    /// The last eviction of a Pod, if it was denied.
    pub(super) not_evicted: Option<Undone>,
    /// The last step of a re-creation, if it was denied.
    pub(super) not_recreated: Option<Undone>,
    /// The last write to each object, if the answer was that the object has changed or does not exist: what was written,
    /// with the version of the object, and when that was answered first.
    pub(super) overtaken: BTreeMap<String, (String, Seconds)>,
    /// How often in a row a write of each object was not answered.
    pub(super) unanswered: BTreeMap<String, u8>,
    /// The hash of the last [request to try again](super::retry).
    asked: Option<u64>,
    /// What has become of it.
    pub(super) retry: Retry,
}

/// What has become of a request to try again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Retry {
    /// There is none, or it was removed.
    #[default]
    Answered,
    /// What was tried again is not reported yet.
    Begun,
    Reported,
}

impl SetMemory {
    /// Stores the reply to a successful apply.
    pub(super) fn applied(&mut self, claim: Claim) {
        self.denials.remove(&claim.uid);
        self.overtaken.remove(&claim.uid);
        self.unanswered.remove(&claim.uid);
        self.written.insert(claim.uid.clone(), claim);
    }

    /// Notes that an apply was denied, or that the API server stored something else.
    pub(super) fn note_denied(
        &mut self,
        apply: &ApplyClaim,
        (cause, message): (String, String),
        stored: Option<String>,
        now: Seconds,
    ) {
        let before = self
            .denials
            .get(&apply.uid)
            .filter(|denial| denial.label == apply.label);
        let denial = Refusal {
            label: apply.label.clone(),
            resource_version: stored.unwrap_or_else(|| apply.resource_version.clone()),
            cause,
            message,
            attempts: before.map_or(0, |denial| denial.attempts).saturating_add(1),
            last: now,
        };
        self.denials.insert(apply.uid.clone(), denial);
    }

    /// Retries at once the denied applies that pass now. The backoff continues if one is denied again.
    pub(super) fn retry_now(&mut self, passes: impl Fn(&str, &Refusal) -> bool) {
        let due = self.denials.iter_mut().filter(|(claim, denial)| passes(claim, denial));
        due.for_each(|(_, denial)| denial.last = 0);
    }

    /// Ends all pauses after failures if this request to try again is new. Returns whether it is. A pause continues to
    /// double if the write fails again.
    pub(super) fn retry_if_new(&mut self, asked: Option<u64>) -> bool {
        let is_new = asked.is_some() && asked != self.asked;
        self.asked = asked;
        if asked.is_none() {
            self.retry = Retry::Answered;
        }
        if is_new {
            self.retry = Retry::Begun;
            self.retry_now(|_, _| true);
            let faults = [&mut self.undone, &mut self.write_denied, &mut self.not_evicted];
            let faults = faults.into_iter().chain([&mut self.not_recreated]);
            faults.flatten().for_each(Undone::retry_now);
            self.quotas = None;
        }
        is_new
    }

    /// Notes that a request to try again, if there is one, is reported.
    pub(super) fn retry_is_reported(&mut self) {
        if self.retry == Retry::Begun {
            self.retry = Retry::Reported;
        }
    }

    /// Stores the ClaimRollout that was written.
    pub(super) fn reported(&mut self, rollout: Arc<ClaimRollout>, now: Seconds) {
        self.rollout = Some(rollout);
        self.reported_at = Some(now);
    }

    /// Stores the state of PVCs for which the report has no room.
    pub(super) fn remember_unlisted(&mut self, unlisted: &[ClaimProgress]) {
        let known = unlisted.iter().map(|claim| {
            let state = (claim.state.to_string(), claim.reason.clone(), claim.message.clone());
            (claim.name.clone(), state)
        });
        self.unlisted = known.collect();
    }

    /// Drops the ClaimRollout that was last written: the failed write may mean that it has changed.
    pub(super) fn report_failed(&mut self) {
        self.rollout = None;
    }

    /// Nothing is left to do for the set: drops everything that only a rollout needs.
    pub(super) fn settle(&mut self, settled: Settled) {
        self.settled = Some(settled);
        self.written.clear();
        self.applies.clear();
        self.denials.clear();
        self.quotas = None;
        self.modified.clear();
        self.claim_events.clear();
        self.kept_pods.clear();
        self.unlisted.clear();
        self.reached = Reached::default();
        self.reported_at = None;
        self.ended = None;
        self.overtaken.clear();
        self.unanswered.clear();
    }

    /// Notes that a write of the object was not answered. Returns true iff that has been so for about a minute, of this
    /// write or of another one of the set, or the write was denied before. Failures of other requests do not count.
    pub(super) fn is_unanswered(&mut self, object: &str) -> bool {
        let is_long = self.unanswered.values().any(|count| *count >= Refusal::UNANSWERED);
        let count = self.unanswered.entry(object.to_owned()).or_default();
        *count = count.saturating_add(1);
        is_long || self.denials.contains_key(object)
    }

    /// True iff the last write to the object was this one, for the same version.
    pub(super) fn is_repeated(&self, object: &str, write: &str) -> bool {
        self.overtaken.get(object).is_some_and(|(known, _)| known == write)
    }

    /// Notes that a write to an object was overtaken. Returns true iff it has been answered like this for a while, and
    /// nothing has changed: then it is a denial like any other.
    pub(super) fn is_stuck(&mut self, object: &str, write: &str, now: Seconds) -> bool {
        match self.overtaken.get(object) {
            // The clock may have been set back.
            Some((known, since)) if known == write && *since <= now => since.saturating_add(OVERTAKEN) <= now,
            _ => {
                self.overtaken.insert(object.to_owned(), (write.to_owned(), now));
                false
            }
        }
    }

    /// True iff a write has been answered as overtaken for longer than a watch usually takes.
    pub(super) fn is_late(&self, now: Seconds) -> bool {
        self.overtaken
            .values()
            .any(|(_, since)| since.saturating_add(LATE) <= now)
    }

    /// The settled state, if there is nothing else to remember.
    fn only_settled(&self) -> Option<Settled> {
        // Every field, so that a new one is not dropped.
        let Self {
            written,
            applies,
            rollout,
            reported_at,
            unlisted,
            unkept,
            shown: _,
            settled,
            ended,
            denials,
            modified,
            quotas,
            claim_events,
            kept_pods,
            reached,
            failures,
            undone,
            write_denied,
            not_evicted,
            not_recreated,
            overtaken,
            unanswered,
            // Without a pause, a request that is seen again ends nothing.
            asked: _,
            retry,
        } = self;
        let maps = written.is_empty()
            && applies.is_empty()
            && unlisted.is_empty()
            && denials.is_empty()
            && modified.is_empty()
            && overtaken.is_empty()
            && unanswered.is_empty();
        let writes = rollout.is_none() && reported_at.is_none() && ended.is_none() && quotas.is_none();
        let faults = undone.is_none() && write_denied.is_none() && not_evicted.is_none();
        let faults = faults && not_recreated.is_none();
        let is_empty = maps
            && writes
            && faults
            && claim_events.is_empty()
            && kept_pods.is_empty()
            && reached.states.is_empty()
            && *retry == Retry::Answered
            && (*unkept, *failures) == (0, 0);
        settled.filter(|_| is_empty)
    }

    /// Replaces PVCs that are older than our last write with its reply, and forgets replies that the watch has caught
    /// up with. An apply that somebody undid since counts as denied.
    pub(super) fn overlay(&mut self, claims: &mut BTreeMap<String, Claim>, now: Seconds) {
        self.written.retain(|uid, written| match claims.get_mut(&written.name) {
            Some(seen) if seen.uid == *uid && is_older(&seen.resource_version, &written.resource_version) => {
                *seen = written.clone();
                true
            }
            _ => false,
        });
        let uids: HashSet<&str> = claims.values().map(|claim| &*claim.uid).collect();
        self.denials.retain(|uid, _| uids.contains(&**uid));
        self.unanswered
            .retain(|object, _| object == SET || uids.contains(&**object));
        self.denials.extend(self.applies.undone(claims, &self.denials, now));
    }

    /// The newest known ClaimRollout: the one in the watch, or the one that was last written.
    ///
    /// One that was written and never seen has just been created; one that was seen and is missing was deleted.
    pub(super) fn latest(&mut self, seen: Option<Arc<ClaimRollout>>) -> Option<Arc<ClaimRollout>> {
        if let Some(seen) = &seen {
            self.shown = seen.uid();
        }
        let written = self.rollout.take();
        let is_newer = |written: &ClaimRollout| match &seen {
            Some(seen) => is_older(&version(seen), &version(written)),
            None => self.shown != written.uid(),
        };
        let Some(written) = written.filter(|written| is_newer(written)) else {
            return seen;
        };
        self.rollout = Some(Arc::clone(&written));
        Some(written)
    }
}

fn version(rollout: &ClaimRollout) -> String {
    rollout.resource_version().unwrap_or_default()
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
