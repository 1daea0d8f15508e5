//! The decisions, as the model calls them. They are pure, so each question is asked once and the answer is cached.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::admission_adapter::AdmissionAdapter;
use super::api::Api;
use super::controller::memory::InstanceMemory;
use super::controller_view::{self, ControllerView};
use super::coverage::Coverage;
use super::invariant_adapter;
use super::objects::{ClaimObject, ReportObject, SLOTS, SetObject, SetObjectSpec};
use super::plan_decision::PlanDecision;
use super::planted::Planted;
use super::rollout_adapter;
use super::settings::ModelSettings;
use super::texts::Texts;
use super::watch::Views;
use super::write::{DenialCause, Write};

/// The cache is cleared at this size.
const MOST: usize = 150_000;

/// The decisions with their caches, and the coverage so far.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    pub(crate) texts: Texts,
    pub(crate) coverage: Coverage,
    admission: AdmissionAdapter,
    plans: FxHashMap<ControllerView, Arc<PlanDecision>>,
    planted: Option<Planted>,
    cached: Option<Views>,
    /// Controllers write no reports: an exploration has fewer states without them.
    pub(crate) silent: bool,
}

impl Decisions {
    /// The decisions with a planted bug.
    pub(crate) fn with(planted: Option<Planted>) -> Self {
        Self {
            planted,
            ..Self::default()
        }
    }

    /// The decisions of an exploration.
    pub(crate) fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    pub(crate) const fn planted(&self) -> Option<Planted> {
        self.planted
    }

    /// Calls `plan`. Returns the decision, and its writes with the real uids and versions.
    pub(crate) fn decide(
        &mut self,
        set: &SetObject,
        claims: &[Option<ClaimObject>; SLOTS],
        views: &Views,
        memory: &InstanceMemory,
        report: Option<ReportObject>,
        settings: ModelSettings,
    ) -> (Arc<PlanDecision>, Vec<Write>) {
        let seen = controller_view::project(set, claims, views, memory, report, settings);
        let decision = match self.plans.get(&seen) {
            Some(decision) => Arc::clone(decision),
            None => {
                if self.plans.len() >= MOST {
                    self.plans.clear();
                }
                let decision = self.ask(&seen);
                let decision = Arc::new(decision);
                self.plans.insert(seen, Arc::clone(&decision));
                decision
            }
        };
        self.coverage.add(&decision.coverage);
        let writes = decision
            .writes
            .iter()
            .map(|write| rollout_adapter::real(*write, set, claims, self.planted));
        let writes = writes.collect();
        (decision, writes)
    }

    /// Calls `plan`. A planted bug changes the view and the decision.
    fn ask(&mut self, seen: &ControllerView) -> PlanDecision {
        let mut changed = Cow::Borrowed(seen);
        if let Some(planted) = self.planted {
            planted.sees(changed.to_mut());
        }
        let mut decision = rollout_adapter::ask(&mut self.texts, &changed, self.silent);
        if let Some(planted) = self.planted {
            planted.decides(&changed, &mut decision);
        }
        decision.judged = invariant_adapter::decision(seen, &decision);
        decision
    }

    /// Calls `admit` for an update of the set. Returns the stored spec, or the cause of the denial.
    pub(crate) fn update(
        &mut self,
        before: &SetObject,
        after: SetObjectSpec,
        api: &Api,
    ) -> Result<SetObjectSpec, DenialCause> {
        self.admission.update(&mut self.texts.names, before, after, api)
    }

    /// Calls `admit` for the creation of a claim.
    pub(crate) fn new_claim(&mut self, set: &SetObject, at: (usize, usize), api: &Api, claim: &mut ClaimObject) {
        let asked = *claim;
        self.admission.new_claim(&mut self.texts.names, set, at, api, claim);
        if let Some(planted) = self.planted {
            planted.creates(&asked, claim);
        }
    }

    /// Calls `admit` for the deletion of a Pod by the StatefulSet controller: true if it is denied.
    pub(crate) fn keeps(&mut self, api: &Api, ordinal: usize) -> bool {
        let Some(planted) = self.planted else {
            return self.admission.keeps(&mut self.texts.names, api, ordinal);
        };
        let api = planted.asks(api, self.cached.as_ref(), ordinal);
        self.admission.keeps(&mut self.texts.names, &api, ordinal)
    }

    /// Keeps the view of a controller for planted bugs of the gate.
    pub(crate) fn cache(&mut self, views: &Views) {
        self.cached = self.planted.map(|_| views.clone());
    }
}
