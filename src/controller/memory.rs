//! What the shell remembers of a set between two looks: replies that the watches have not caught up with, and refusals.
//!
//! Nothing depends on it. A controller that has just started knows none of it, and the server's own checks (uid,
//! resourceVersion, and that an apply which changes nothing writes nothing) hold all the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::ResourceExt;

use super::claim_events::ClaimEvents;
use super::crd::ClaimRollout;
use super::known_quotas::Read;
use super::settled::Settled;
use super::undone::Undone;
use crate::claims::Claim;
use crate::rollout::{ApplyClaim, ClaimProgress, Refusal, Seconds};

/// What is remembered of one set.
#[derive(Debug, Default)]
pub(super) struct Memory {
    written: HashMap<String, Claim>,
    /// As it was written last, while the watch has not shown it.
    rollout: Option<Arc<ClaimRollout>>,
    /// When the report was written last.
    pub(super) reported_at: Option<Seconds>,
    /// What was told last of claims that found no place in the report, by name: state, reason and message.
    pub(super) unlisted: BTreeMap<String, (String, String, String)>,
    /// How often the wish could not be kept in the history because something else has its name.
    pub(super) unkept: u32,
    /// The uid of the last report that the watch has shown.
    shown: Option<String>,
    /// That nothing was left to do.
    pub(super) settled: Option<Settled>,
    /// The resourceVersion that the set had when the end of its rollout was written to it, and when that was.
    pub(super) ended: Option<(String, Seconds)>,
    /// Applies that were refused, by the uid of the claim.
    pub(super) refusals: BTreeMap<String, Refusal>,
    /// When claims were modified that the watch may not have shown since, by uid.
    pub(super) modified: BTreeMap<String, Vec<Seconds>>,
    /// The quotas of the namespace, before the first write of a rollout. On the heap: few have any.
    pub(super) quotas: Option<Box<Read>>,
    /// What was said of claims that take long.
    pub(super) claim_events: ClaimEvents,
    /// Failures in a row.
    pub(super) failures: u32,
    /// The last write to the set, if it was put back.
    pub(super) undone: Option<Undone>,
    /// The same, if it was refused.
    pub(super) refused: Option<Undone>,
    /// The last eviction of a Pod, if it was denied.
    pub(super) not_evicted: Option<Undone>,
}

impl Memory {
    /// The apply succeeded, and this is what the claim looks like since.
    pub(super) fn applied(&mut self, claim: Claim) {
        self.refusals.remove(&claim.uid);
        self.written.insert(claim.uid.clone(), claim);
    }

    /// The apply was refused, for this cause and with these words; or another claim was stored.
    pub(super) fn refused(
        &mut self,
        apply: &ApplyClaim,
        (cause, message): (String, String),
        stored: Option<String>,
        now: Seconds,
    ) {
        let before = self
            .refusals
            .get(&apply.uid)
            .filter(|refusal| refusal.revision == apply.revision);
        let refusal = Refusal {
            revision: apply.revision.clone(),
            resource_version: stored.unwrap_or_else(|| apply.resource_version.clone()),
            cause,
            message,
            attempts: before.map_or(0, |refusal| refusal.attempts).saturating_add(1),
            last: now,
        };
        self.refusals.insert(apply.uid.clone(), refusal);
    }

    /// Something has given way: what was refused and passes now is due. Refused once more, it waits longer than before.
    pub(super) fn retry_now(&mut self, passes: impl Fn(&str, &Refusal) -> bool) {
        let due = self
            .refusals
            .iter_mut()
            .filter(|(claim, refusal)| passes(claim, refusal));
        due.for_each(|(_, refusal)| refusal.last = 0);
    }

    /// The report was written.
    pub(super) fn reported(&mut self, rollout: Arc<ClaimRollout>, now: Seconds) {
        self.rollout = Some(rollout);
        self.reported_at = Some(now);
    }

    /// This was told of claims that find no place in the report.
    pub(super) fn remember_unlisted(&mut self, unlisted: &[ClaimProgress]) {
        let known = unlisted.iter().map(|claim| {
            let state = (claim.state.to_string(), claim.reason.clone(), claim.message.clone());
            (claim.name.clone(), state)
        });
        self.unlisted = known.collect();
    }

    /// The report could not be written: perhaps it is not what was written last.
    pub(super) fn report_failed(&mut self) {
        self.rollout = None;
    }

    /// Nothing is left to do for the set.
    pub(super) fn settle(&mut self, settled: Settled) {
        self.settled = Some(settled);
        self.written.clear();
        self.refusals.clear();
        self.quotas = None;
        self.modified.clear();
        self.claim_events.clear();
        self.unlisted.clear();
    }

    /// Brings what the watches show up to what is known, and forgets what they have caught up with.
    pub(super) fn bring_up(&mut self, claims: &mut BTreeMap<String, Claim>) {
        self.written.retain(|uid, written| match claims.get_mut(&written.name) {
            Some(seen) if seen.uid == *uid && is_older(&seen.resource_version, &written.resource_version) => {
                *seen = written.clone();
                true
            }
            _ => false,
        });
        self.refusals
            .retain(|uid, _| claims.values().any(|claim| claim.uid == *uid));
    }

    /// The report as it is known: as the watch shows it, or as it was last written.
    ///
    /// What was written and never shown has just been created; what was shown and is not any more was deleted.
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

/// True iff both are numbers, as they have been in every release, and the first one is the smaller.
fn is_older(seen: &str, written: &str) -> bool {
    match (seen.parse::<u64>(), written.parse::<u64>()) {
        (Ok(seen), Ok(written)) => seen < written,
        _ => false,
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
