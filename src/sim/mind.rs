//! The two decisions, asked by the model. Both are pure, so each question is put once and its answer remembered.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::api::{Api, Cause, Write};
use super::controller::memory::Memory;
use super::coverage::Coverage;
use super::door::Door;
use super::judge;
use super::names::Names;
use super::objects::{Age, Claim, Claims, Report, SLOTS, Set, SetSpec};
use super::planted::Planted;
use super::see;
use super::seen::{self, Seen};
use super::watch::Views;
use crate::rollout::invariants::Broken;
use crate::rollout::{Previous, Reason};

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
    pub(crate) requeue: Option<Age>,
    pub(crate) settled: bool,
    /// A wish is new: it is reported first.
    pub(crate) begins: bool,
    /// Claims that are stuck, by slot.
    pub(crate) stuck: u16,
    /// There is a wish to roll out, so claims and Pods are watched.
    pub(crate) rolls_out: bool,
    /// What was reached, for [`Coverage`].
    pub(crate) coverage: Coverage,
    /// The order of what is written, judged by what was seen.
    pub(crate) judged: Result<(), Broken>,
}

/// Answers, texts, and what was reached so far.
#[derive(Debug, Default)]
pub(crate) struct Mind {
    pub(crate) names: Names,
    pub(crate) coverage: Coverage,
    door: Door,
    decisions: FxHashMap<Seen, Arc<Decision>>,
    says: FxHashMap<String, u32>,
    previous: Vec<(Previous, String)>,
    planted: Option<Planted>,
    cached: Option<Views>,
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
        let seen = seen::project(set, claims, views, memory, report, recover);
        let decision = match self.decisions.get(&seen) {
            Some(decision) => Arc::clone(decision),
            None => {
                if self.decisions.len() >= MOST {
                    self.decisions.clear();
                }
                let decision = self.ask(&seen);
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

    /// Asks `plan`, and bends both if a bug is planted.
    fn ask(&mut self, seen: &Seen) -> Decision {
        let mut bent = Cow::Borrowed(seen);
        if let Some(planted) = self.planted {
            planted.sees(bent.to_mut());
        }
        let mut decision = see::ask(self, &bent);
        if let Some(planted) = self.planted {
            planted.decides(&bent, &mut decision);
        }
        decision.judged = judge::order(seen, &decision.writes);
        decision
    }

    /// The number of a progress, and of what is known of it afterwards.
    pub(crate) fn number(&mut self, text: String, previous: impl FnOnce() -> (Previous, String)) -> u32 {
        if let Some(number) = self.says.get(&text) {
            return *number;
        }
        let number = u32::try_from(self.previous.len()).unwrap_or(u32::MAX);
        self.previous.push(previous());
        self.says.insert(text, number);
        number
    }

    /// What a report said.
    pub(crate) fn previous(&self, says: u32) -> Option<Previous> {
        self.previous
            .get(usize::try_from(says).ok()?)
            .map(|(previous, _)| previous.clone())
    }

    /// A report in words.
    pub(crate) fn words(&self, says: u32) -> &str {
        let place = usize::try_from(says).unwrap_or(usize::MAX);
        self.previous.get(place).map_or("?", |(_, words)| words)
    }

    /// Asks `admit` about an update of the set: what is stored then, or who refuses it. With `shrink: Recover` it looks at the
    /// claims.
    pub(crate) fn update(&mut self, before: &Set, after: SetSpec, recover: Option<&Claims>) -> Result<SetSpec, Cause> {
        self.door.update(&mut self.names, before, after, recover)
    }

    /// Asks `admit` about the birth of a claim.
    pub(crate) fn new_claim(&mut self, set: &Set, template: usize, ordinal: usize, sibling: bool, claim: &mut Claim) {
        self.door
            .new_claim(&mut self.names, set, (template, ordinal), sibling, claim);
    }

    /// Asks `admit` about the deletion of a Pod by the StatefulSet controller: true if it is denied.
    pub(crate) fn keeps(&mut self, api: &Api, ordinal: usize) -> bool {
        let Some(planted) = self.planted else {
            return self.door.keeps(&mut self.names, api, ordinal);
        };
        let api = planted.asks(api, self.cached.as_ref(), ordinal);
        self.door.keeps(&mut self.names, &api, ordinal)
    }

    /// What somebody sees who reads no API server: for planted bugs.
    pub(crate) fn cache(&mut self, views: &Views) {
        self.cached = self.planted.map(|_| views.clone());
    }
}
