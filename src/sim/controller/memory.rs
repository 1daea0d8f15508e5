//! The memory of a controller between two reconciles, as `controller::memory` has it: replies and denied applies.

use std::sync::Arc;

use crate::rollout::Refusal;
use crate::sim::objects::{Age, ClaimObject, ModelTarget, ReportObject, SLOTS, SetObject, Uid, Version};
use crate::sim::planted::Planted;
use crate::sim::write::{Apply, DenialCause};

/// The memory of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InstanceMemory {
    /// The uid of the set.
    pub(crate) of: Uid,
    pub(crate) written: [Option<ClaimObject>; SLOTS],
    pub(crate) report: Option<ReportObject>,
    /// A watch has shown the report.
    pub(crate) report_seen: bool,
    /// The set and the version of the report when nothing was left to do.
    pub(crate) settled: Option<(SetObject, Version)>,
    pub(crate) denials: [Option<DeniedApply>; SLOTS],
    pub(crate) failures: u8,
    /// How often in a row a write was not answered: of each claim, and of the set.
    pub(crate) unanswered: [u8; SLOTS + 1],
    /// The last write to the set, if somebody undid it.
    pub(crate) undone: Option<UndoneWrite>,
}

/// A write to the set that somebody undid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UndoneWrite {
    pub(crate) attempts: u8,
    pub(crate) age: Age,
}

/// An apply that was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeniedApply {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    pub(crate) revision: ModelTarget,
    pub(crate) cause: DenialCause,
    pub(crate) attempts: u8,
    pub(crate) age: Age,
}

impl UndoneWrite {
    /// One more attempt.
    pub(crate) fn again(before: Option<Self>) -> Self {
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1).min(12);
        Self { attempts, age: 0 }
    }
}

impl InstanceMemory {
    /// Remembers the reply of an apply that succeeded.
    pub(crate) fn applied(&mut self, slot: usize, claim: ClaimObject) {
        if self.denials[slot].is_some_and(|denial| denial.uid == claim.uid) {
            self.denials[slot] = None;
        }
        self.written[slot] = Some(claim);
        self.unanswered[slot] = 0;
    }

    /// Notes that a write had no answer. True iff that has been so for about a minute, or the write was denied before.
    pub(crate) fn is_unanswered(&mut self, object: usize, planted: Option<Planted>) -> bool {
        let is_long = match planted {
            Some(Planted::UnansweredBySet) => self.failures >= Refusal::UNANSWERED,
            _ => self.unanswered.iter().any(|count| *count >= Refusal::UNANSWERED),
        };
        self.unanswered[object] = self.unanswered[object].saturating_add(1).min(10);
        is_long || self.denials.get(object).is_some_and(Option::is_some)
    }

    /// Remembers a denied apply. If a webhook changed the claim, `stored` is the version that was stored.
    pub(crate) fn refused(&mut self, apply: &Apply, cause: DenialCause, stored: Option<Version>) {
        let (uid, version) = (apply.uid.unwrap_or(0), stored.or(apply.version).unwrap_or(0));
        let place = &mut self.denials[usize::from(apply.slot)];
        let before = place.filter(|denial| denial.uid == uid && denial.revision == apply.revision);
        let attempts = before.map_or(0, |denial| denial.attempts).saturating_add(1).min(12);
        *place = Some(DeniedApply {
            uid,
            version,
            revision: apply.revision,
            cause,
            attempts,
            age: 0,
        });
    }

    /// Remembers that nothing is left to do.
    pub(crate) fn settle(&mut self, set: &SetObject, report: Version) {
        self.settled = Some((
            SetObject {
                since_staged: 0,
                ..*set
            },
            report,
        ));
        self.written = [None; SLOTS];
        self.denials = [None; SLOTS];
        self.unanswered = [0; SLOTS + 1];
    }

    /// Whether nothing is left to do for this set and this report. A planted bug counts every change of the set.
    pub(crate) fn is_settled(&self, set: &SetObject, report: Version, planted: Option<Planted>) -> bool {
        let same = |seen: &SetObject| match planted {
            Some(Planted::StatusUnsettles) => seen.version == set.version,
            _ => seen.basis() == set.basis(),
        };
        self.settled
            .as_ref()
            .is_some_and(|(seen, known)| same(seen) && *known == report)
    }

    /// Replaces outdated claims by remembered replies, and forgets replies that the watch has shown.
    pub(crate) fn overlay(&mut self, claims: &mut [Option<ClaimObject>; SLOTS]) {
        for (slot, seen) in claims.iter_mut().enumerate() {
            let newer = |written: &ClaimObject| {
                seen.is_some_and(|seen| seen.uid == written.uid && seen.version < written.version)
            };
            self.written[slot] = self.written[slot].filter(newer);
            if let Some(written) = self.written[slot] {
                *seen = Some(written);
            }
            let there = |denial: &DeniedApply| seen.is_some_and(|seen| seen.uid == denial.uid);
            self.denials[slot] = self.denials[slot].filter(there);
        }
    }

    /// The latest known report: from the watch, or as last written.
    pub(crate) fn latest(memory: &mut Arc<Self>, seen: Option<ReportObject>) -> Option<ReportObject> {
        if seen.is_some() && !memory.report_seen {
            Arc::make_mut(memory).report_seen = true;
        }
        let Some(written) = memory.report else {
            return seen;
        };
        let behind = match seen {
            Some(seen) => seen.version < written.version,
            // It was just created, or a user has deleted it.
            None => !memory.report_seen,
        };
        if behind {
            return Some(written);
        }
        Arc::make_mut(memory).report = None;
        seen
    }
}
