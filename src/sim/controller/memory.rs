//! What a controller remembers between two looks, as `controller::memory` does: replies, and refusals.

use std::sync::Arc;

use crate::sim::api::{Apply, Cause};
use crate::sim::objects::{Age, Claim, Report, SLOTS, Target, Uid, Version};

/// What is remembered of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    /// Which.
    pub(crate) of: Uid,
    pub(crate) written: [Option<Claim>; SLOTS],
    pub(crate) report: Option<Report>,
    /// A watch has shown the report.
    pub(crate) report_seen: bool,
    pub(crate) settled: Option<(Version, Version)>,
    pub(crate) refusals: [Option<Refusal>; SLOTS],
    pub(crate) failures: u8,
}

/// An apply that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refusal {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    pub(crate) revision: Target,
    pub(crate) cause: Cause,
    pub(crate) attempts: u8,
    pub(crate) age: Age,
}

impl Memory {
    /// The apply was done, and this is what the claim looks like since.
    pub(crate) fn applied(&mut self, slot: usize, claim: Claim) {
        if self.refusals[slot].is_some_and(|refusal| refusal.uid == claim.uid) {
            self.refusals[slot] = None;
        }
        self.written[slot] = Some(claim);
    }

    /// The apply was refused; or another claim was stored, of this version.
    pub(crate) fn refused(&mut self, apply: &Apply, cause: Cause, stored: Option<Version>) {
        let (uid, version) = (apply.uid.unwrap_or(0), stored.or(apply.version).unwrap_or(0));
        let place = &mut self.refusals[usize::from(apply.slot)];
        let before = place.filter(|refusal| refusal.uid == uid && refusal.revision == apply.revision);
        let attempts = before.map_or(0, |refusal| refusal.attempts).saturating_add(1).min(12);
        *place = Some(Refusal {
            uid,
            version,
            revision: apply.revision,
            cause,
            attempts,
            age: 0,
        });
    }

    /// Nothing is left to do.
    pub(crate) fn settle(&mut self, set: Version, report: Version) {
        self.settled = Some((set, report));
        self.written = [None; SLOTS];
        self.refusals = [None; SLOTS];
    }

    /// Brings what is seen up to what is known, and forgets what the watches have caught up with.
    pub(crate) fn bring_up(&mut self, claims: &mut [Option<Claim>; SLOTS]) {
        for (slot, seen) in claims.iter_mut().enumerate() {
            let newer =
                |written: &Claim| seen.is_some_and(|seen| seen.uid == written.uid && seen.version < written.version);
            self.written[slot] = self.written[slot].filter(newer);
            if let Some(written) = self.written[slot] {
                *seen = Some(written);
            }
            let there = |refusal: &Refusal| seen.is_some_and(|seen| seen.uid == refusal.uid);
            self.refusals[slot] = self.refusals[slot].filter(there);
        }
    }

    /// The report as it is known: as the watch shows it, or as it was last written.
    pub(crate) fn latest(memory: &mut Arc<Self>, seen: Option<Report>) -> Option<Report> {
        if seen.is_some() && !memory.report_seen {
            Arc::make_mut(memory).report_seen = true;
        }
        let Some(written) = memory.report else {
            return seen;
        };
        let behind = match seen {
            Some(seen) => seen.version < written.version,
            // It was just made; or somebody has deleted it.
            None => !memory.report_seen,
        };
        if behind {
            return Some(written);
        }
        Arc::make_mut(memory).report = None;
        seen
    }
}
