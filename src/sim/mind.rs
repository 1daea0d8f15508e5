//! The two decisions, asked by the model. Both are pure, so each question is put once and its answer remembered.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::api::{Api, Cause, Write};
use super::controller::memory::Memory;
use super::coverage::Coverage;
use super::door::Door;
use super::names::Names;
use super::objects::{Age, Claim, Claims, Report, SLOTS, Set, SetSpec};
use super::planted::Planted;
use super::see;
use super::seen::{self, Seen};
use super::watch::Views;
use crate::rollout::{Earlier, Reason};

/// When so many answers are remembered, they are forgotten.
const MOST: usize = 150_000;

/// What `plan` says, in the words of the model.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// Uids and versions are those of [`Seen`].
    pub(crate) writes: Vec<Write>,
    /// What is told, of which claim, by the number of its text.
    pub(crate) tells: Vec<(Reason, Option<u8>, u32)>,
    /// The number of the progress.
    pub(crate) says: u32,
    pub(crate) wake: Option<Age>,
    pub(crate) settled: bool,
    /// A wish is new: it is reported first.
    pub(crate) begins: bool,
    /// Claims that are stuck, by slot.
    pub(crate) stuck: u16,
    /// There is a wish to roll out, so claims and Pods are watched.
    pub(crate) rolls_out: bool,
    /// What was reached, for [`Coverage`].
    pub(crate) coverage: Coverage,
}

/// Answers, texts, and what was reached so far.
#[derive(Debug, Default)]
pub(crate) struct Mind {
    pub(crate) names: Names,
    pub(crate) coverage: Coverage,
    door: Door,
    decisions: FxHashMap<Seen, Arc<Decision>>,
    says: FxHashMap<String, u32>,
    earlier: Vec<(Earlier, String)>,
    planted: Option<Planted>,
    /// Controllers report what they do. Switched off where every state counts.
    pub(crate) silent: bool,
}

impl Mind {
    /// One with a defect in it.
    pub(crate) fn with(planted: Option<Planted>) -> Self {
        Self {
            planted,
            ..Self::default()
        }
    }

    pub(crate) const fn planted(&self) -> Option<Planted> {
        self.planted
    }

    /// Asks `plan`; the answer, and its writes with the uids and versions that were seen.
    pub(crate) fn decide(
        &mut self,
        set: &Set,
        claims: &[Option<Claim>; SLOTS],
        views: &Views,
        memory: &Memory,
        report: Option<Report>,
        recover: bool,
    ) -> (Arc<Decision>, Vec<Write>) {
        let mut seen = seen::project(set, claims, views, memory, report, recover);
        if let Some(planted) = self.planted {
            planted.sees(&mut seen);
        }
        let decision = match self.decisions.get(&seen) {
            Some(decision) => Arc::clone(decision),
            None => {
                if self.decisions.len() >= MOST {
                    self.decisions.clear();
                }
                let mut decision = see::ask(self, &seen);
                if let Some(planted) = self.planted {
                    planted.decides(&seen, &mut decision);
                }
                let decision = Arc::new(decision);
                self.decisions.insert(seen, Arc::clone(&decision));
                decision
            }
        };
        self.coverage.add(&decision.coverage);
        let writes = decision
            .writes
            .iter()
            .map(|write| see::real(*write, set, claims, self.planted));
        let writes = writes.collect();
        (decision, writes)
    }

    /// The number of a progress, and of what is known of it afterwards.
    pub(crate) fn number(&mut self, text: String, earlier: impl FnOnce() -> (Earlier, String)) -> u32 {
        if let Some(number) = self.says.get(&text) {
            return *number;
        }
        let number = u32::try_from(self.earlier.len()).unwrap_or(u32::MAX);
        self.earlier.push(earlier());
        self.says.insert(text, number);
        number
    }

    /// What a report said.
    pub(crate) fn earlier(&self, says: u32) -> Option<Earlier> {
        self.earlier
            .get(usize::try_from(says).ok()?)
            .map(|(earlier, _)| earlier.clone())
    }

    /// A report in words.
    pub(crate) fn words(&self, says: u32) -> &str {
        let place = usize::try_from(says).unwrap_or(usize::MAX);
        self.earlier.get(place).map_or("?", |(_, words)| words)
    }

    /// Asks `admit` about an update of the set: what is stored then, or who refuses it. With `shrink: Recover` it looks at the
    /// claims.
    pub(crate) fn update(&mut self, before: &Set, after: SetSpec, recover: Option<&Claims>) -> Result<SetSpec, Cause> {
        self.door.update(&mut self.names, before, after, recover)
    }

    /// Asks `admit` about the birth of a claim.
    pub(crate) fn birth(&mut self, set: &Set, template: usize, ordinal: usize, neighbour: bool, claim: &mut Claim) {
        self.door
            .birth(&mut self.names, set, (template, ordinal), neighbour, claim);
    }

    /// Asks `admit` about the deletion of a Pod by the StatefulSet controller: true if it is denied.
    pub(crate) fn keeps(&mut self, api: &Api, ordinal: usize) -> bool {
        self.door.keeps(&mut self.names, api, ordinal)
    }
}
