//! The whole model: the API server, the controllers, and the steps that change them.

use std::sync::Arc;

use super::actors::storage::Driver;
use super::actors::{kubelet, statefulset, storage};
use super::api::Api;
use super::clock::advance;
use super::controller::memory::{DeniedApply, KnownReplies};
use super::controller::{Instance, NextReconcile};
use super::decisions::Decisions;
use super::invariant_adapter::{self, SceneFacts};
use super::log::Log;
use super::objects::{Age, ModelTarget, StagedAnnotation};
use super::step::{INSTANCES, SimStep};
use super::target::target_in_force;
use super::watch::{Views, WatchKind};
use super::write::DenialCause;
use crate::rollout::invariants::{Broken, Ledger};

/// The state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SimWorld {
    pub(crate) api: Api,
    pub(crate) instances: [Instance; INSTANCES],
    /// The view of an API server that is behind.
    pub(crate) past: Option<Arc<Views>>,
    pub(crate) driver: Driver,
    /// The manifest in the user's repository: templates and image.
    pub(crate) manifest: (ModelTarget, u8),
    pub(crate) ledger: Ledger,
    /// A staged change that a user copied.
    pub(crate) copied: Option<StagedAnnotation>,
}

impl SimWorld {
    /// An empty cluster with one controller.
    pub(crate) fn new() -> Self {
        let first = Instance {
            alive: true,
            ..Instance::default()
        };
        Self {
            api: Api::new(),
            instances: [first, Instance::default()],
            past: None,
            driver: Driver::default(),
            manifest: (ModelTarget::default(), 0),
            ledger: Ledger::default(),
            copied: None,
        }
    }

    /// Executes a step; true if it had an effect.
    ///
    /// # Errors
    /// [`Broken`] if a guarantee does not hold afterwards.
    pub(crate) fn step(&mut self, step: SimStep, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let happened = match step {
            SimStep::Deliver(who, kind) => self.deliver(who, kind, decisions),
            SimStep::Reconcile(who) => self.reconcile(who, decisions, log)?,
            SimStep::Send(who, fate) => return self.send(who, fate, decisions, log),
            SimStep::Crash(who) => self.restart(who),
            SimStep::Start => !self.instances[1].alive && self.restart(1),
            SimStep::Freeze => self.freeze(),
            SimStep::TimeTravel(who) => self.travel(who),
            SimStep::Sync => self.sync(decisions, log)?,
            SimStep::Observe => self.observe()?,
            SimStep::Retry => self.api.backoff.take().is_some(),
            SimStep::Kubelet(ordinal) => kubelet::step(&mut self.api, &self.driver, usize::from(ordinal)),
            SimStep::Provision(slot) => storage::provision(&mut self.api, &self.driver, usize::from(slot)),
            SimStep::Resize(slot, how) => storage::resize(&mut self.api, &self.driver, usize::from(slot), how),
            SimStep::Collect => statefulset::collect(&mut self.api),
            SimStep::Tick(seconds) => self.tick(seconds, decisions, log),
            SimStep::Clock(who, seconds) => self.instances[usize::from(who)].jump(seconds, decisions.planted()),
            SimStep::User(action) => self.act(action, decisions, log),
        };
        if happened {
            self.update_ledger();
            log.stepped(step);
        }
        Ok(happened)
    }

    fn deliver(&mut self, who: u8, kind: WatchKind, decisions: &Decisions) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        instance.alive && instance.receive(&self.api, kind, decisions.planted())
    }

    fn sync(&mut self, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let before = self.api.clone();
        decisions.cache(&self.instances[0].views);
        let happened = statefulset::sync(&mut self.api, decisions);
        if let Some(backoff) = self.api.backoff.filter(|_| happened) {
            log.line(|| format!("    denied: Pod {} waits", backoff.ordinal));
        }
        invariant_adapter::gate(&before, &self.api)?;
        invariant_adapter::created(&before, &self.api)?;
        Ok(happened)
    }

    fn observe(&mut self) -> Result<bool, Broken> {
        let happened = statefulset::observe(&mut self.api);
        invariant_adapter::tools(&self.api)?;
        Ok(happened)
    }

    fn restart(&mut self, who: u8) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        *instance = Instance::started(&self.api);
        true
    }

    fn freeze(&mut self) -> bool {
        self.past = Some(Arc::new(Views::of(&self.api)));
        true
    }

    /// A new connection, to an API server that is behind. The memory is kept.
    fn travel(&mut self, who: u8) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        match &self.past {
            Some(past) if instance.alive && instance.views != **past => {
                instance.views = (**past).clone();
                instance.requeue = NextReconcile::Now;
                Arc::make_mut(&mut instance.memory).replies = KnownReplies::behind();
                true
            }
            _ => false,
        }
    }

    fn tick(&mut self, seconds: Age, decisions: &Decisions, log: &mut Log) -> bool {
        log.now += u64::from(seconds.unsigned_abs());
        self.api.pass_backoff(seconds);
        // Ages grow without a write, so views age too.
        advance(&mut self.api.set, &mut self.api.pods, &mut self.api.report, seconds);
        if let Some(past) = &mut self.past {
            let past = Arc::make_mut(past);
            advance(&mut past.set, &mut past.pods, &mut past.report, seconds);
        }
        for instance in &mut self.instances {
            instance.tick(seconds, decisions.planted());
        }
        true
    }

    /// Shows the ledger what is stored now.
    pub(crate) fn update_ledger(&mut self) {
        let facts = self.facts();
        self.ledger.observe(&facts.scene());
    }

    /// Facts about the stored objects.
    pub(crate) fn facts(&self) -> SceneFacts {
        let refused = |slot: usize| {
            let target = target_in_force(&self.api);
            let uid = self.api.claims[slot].map(|claim| claim.uid);
            self.instances.iter().any(|instance| {
                let denial = uid.and_then(|uid| instance.memory.denial(slot, uid));
                denial.is_some_and(|denial| Some(denial.label) == target)
            })
        };
        SceneFacts::of(&self.api, &refused)
    }

    /// Facts about the stored objects, and what the controllers know about their last writes.
    pub(crate) fn facts_known(&self) -> SceneFacts {
        let mut facts = self.facts();
        let target = target_in_force(&self.api);
        facts.changed_by_others(&|slot| {
            let Some(claim) = self.api.claims[slot] else {
                return false;
            };
            let changed = |denial: &DeniedApply| {
                let is_of_target = (denial.resource_version, Some(denial.label)) == (claim.version, target);
                denial.cause == DenialCause::Changed && is_of_target
            };
            let mut denials = self
                .instances
                .iter()
                .filter_map(|one| one.memory.denial(slot, claim.uid));
            denials.any(changed)
        });
        facts
    }
}
