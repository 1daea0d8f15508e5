//! All states of a small scope of the whole model: each state is checked; from each the target can be reached (L1 and L2),
//! and where it is reached, it stays reached without user actions.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use super::actors::action::UserAction;
use super::actors::storage::Resizing;
use super::canonical::{canonical, simplify};
use super::controller::Instance;
use super::coverage::Coverage;
use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ORDINALS, SLOTS};
use super::search::SearchModel;
use super::step::{RequestFate, SimStep};
use super::watch::WatchKind;
use super::words;
use super::workload::Workload;
use super::workloads;
use super::world::SimWorld;
use crate::rollout::invariants::{Broken, Rule, Scene, SetFacts, l1_reached};

/// The events of an exploration, with upper bounds.
#[derive(Clone, Debug)]
pub(crate) struct SearchScope {
    pub(crate) workload: &'static str,
    /// User actions, each at most once, in this order.
    pub(crate) actions: Cow<'static, [UserAction]>,
    /// Crashes and other faults of requests.
    pub(crate) faults: u8,
    /// Reads from an API server that is behind.
    pub(crate) travels: u8,
    /// Whether a second controller runs.
    pub(crate) second: bool,
}

/// The events that are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SearchBudget {
    actions: u8,
    faults: u8,
    travels: u8,
}

/// A state of the whole model in a scope.
#[derive(Clone, Debug)]
pub(crate) struct ScopeState {
    world: SimWorld,
    budget: SearchBudget,
}

/// The whole model in a scope.
pub(crate) struct ScopeModel {
    scope: SearchScope,
    decisions: Decisions,
    log: Log,
    /// The target is reached in the state whose events happen, and no user action is left.
    has_reached: bool,
}

impl SearchBudget {
    /// What is left after a step.
    const fn after(self, step: SimStep) -> Self {
        let Self {
            actions,
            faults,
            travels,
        } = self;
        match step {
            SimStep::User(_) => Self {
                actions: actions + 1,
                ..self
            },
            SimStep::Send(_, RequestFate::Answered) => self,
            SimStep::Send(..) | SimStep::Crash(_) => Self {
                faults: faults - 1,
                ..self
            },
            SimStep::Freeze | SimStep::TimeTravel(_) => Self {
                travels: travels - 1,
                ..self
            },
            _ => self,
        }
    }
}

/// By the [`canonical`] world.
impl Hash for ScopeState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        canonical(&self.world).hash(hasher);
        self.budget.hash(hasher);
    }
}

impl SearchModel for ScopeModel {
    type State = ScopeState;
    type Event = SimStep;
    type Covered = Coverage;

    const ENDLESS: &'static str = "L1: the target cannot be reached";

    fn name(&self) -> String {
        let SearchScope {
            workload,
            actions,
            faults,
            travels,
            second,
        } = &self.scope;
        let actions = actions.len();
        let second = if *second { ", two controllers" } else { "" };
        format!("{workload}, {actions} user actions, {faults} faults, {travels} older views{second}")
    }

    fn start(&mut self) -> Result<ScopeState, String> {
        let workload = Workload::named(self.scope.workload).unwrap_or(&workloads::ALL[0]);
        let world = workload.start(&mut self.decisions, &mut self.log);
        let mut world = world.map_err(|broken| broken.to_string())?;
        if self.scope.second {
            world.instances[1] = Instance::started(&world.api);
        }
        let budget = SearchBudget {
            actions: 0,
            faults: self.scope.faults,
            travels: self.scope.travels,
        };
        Ok(ScopeState { world, budget })
    }

    fn events(&mut self, state: &ScopeState) -> Vec<SimStep> {
        let is_spent = usize::from(state.budget.actions) == self.scope.actions.len();
        self.has_reached = is_spent && self.is_ended(state);
        self.steps(state)
    }

    fn after(&mut self, state: &ScopeState, step: SimStep) -> Result<Option<ScopeState>, String> {
        let mut world = state.world.clone();
        let happened = world.step(step, &mut self.decisions, &mut self.log);
        if !happened.map_err(|broken| broken.to_string())? {
            return Ok(None);
        }
        simplify(&mut world);
        let budget = state.budget.after(step);
        if self.has_reached && budget == state.budget && !self.stays(&world) {
            let why = "the target was reached, but did not stay reached".to_owned();
            return Err(Broken { rule: Rule::L1, why }.to_string());
        }
        Ok(Some(ScopeState { world, budget }))
    }

    fn is_ended(&self, state: &ScopeState) -> bool {
        l1_reached(&state.world.facts().scene()).is_ok()
    }

    /// The target can be reached also by what users do next.
    fn is_free(&self, _before: &ScopeState, _after: &ScopeState) -> bool {
        true
    }

    fn words(&self, step: SimStep, _after: Option<&ScopeState>) -> String {
        words::words(step)
    }

    fn covered(self) -> Coverage {
        self.decisions.coverage
    }
}

impl ScopeModel {
    /// The model in this scope. Its controllers write no reports.
    pub(crate) fn of(scope: SearchScope) -> Self {
        Self {
            scope,
            decisions: Decisions::silent(),
            log: Log::default(),
            has_reached: false,
        }
    }

    /// The target is reached, but for the phase: a controller with an older view may take that back for a moment.
    fn stays(&self, world: &SimWorld) -> bool {
        let facts = world.facts();
        let scene = facts.scene();
        let set = scene.set.map(|set| SetFacts { complete: true, ..set });
        let older = self.scope.second || self.scope.travels > 0;
        l1_reached(&scene).is_ok() || older && l1_reached(&Scene { set, ..scene }).is_ok()
    }

    /// The possible next steps.
    fn steps(&self, ScopeState { world, budget }: &ScopeState) -> Vec<SimStep> {
        let mut steps = Vec::with_capacity(32);
        let mut add = |step| steps.push(step);
        let byte = |number: usize| u8::try_from(number).unwrap_or(0);
        for who in 0..if self.scope.second { 2 } else { 1 } {
            let instance = &world.instances[usize::from(who)];
            WatchKind::ALL[..3]
                .iter()
                .for_each(|kind| add(SimStep::Deliver(who, *kind)));
            add(if instance.reconcile.is_some() {
                SimStep::Send(who, RequestFate::Answered)
            } else {
                SimStep::Reconcile(who)
            });
        }
        [SimStep::Sync, SimStep::Observe, SimStep::Collect]
            .into_iter()
            .for_each(&mut add);
        (0..ORDINALS).for_each(|ordinal| add(SimStep::Kubelet(byte(ordinal))));
        for slot in (0..SLOTS).filter(|slot| world.api.claims[*slot].is_some()) {
            add(SimStep::Provision(byte(slot)));
            add(SimStep::Resize(byte(slot), Resizing::Finish));
        }
        if world.instances.iter().any(|instance| instance.memory.has_pause()) {
            add(SimStep::Tick(301));
        }
        let longest = world.api.set.map_or(0, |set| set.min_ready());
        let ready = world.api.pods.iter().flatten().filter_map(|pod| pod.ready);
        if ready.min().is_some_and(|age| age < longest) {
            add(SimStep::Tick(longest));
        }
        // A controller with an older view may have written an older `ready`.
        if world.api.backoff.is_some() && budget.travels < self.scope.travels {
            steps.push(SimStep::Retry);
        }
        self.disturbances(world, *budget, &mut steps);
        steps
    }

    /// The possible faults and user actions.
    fn disturbances(&self, world: &SimWorld, budget: SearchBudget, steps: &mut Vec<SimStep>) {
        if let Some(action) = self.scope.actions.get(usize::from(budget.actions)) {
            steps.push(SimStep::User(*action));
        }
        if budget.faults > 0 {
            if world.instances[0].reconcile.is_some() {
                let fates = [
                    RequestFate::ReplyLost,
                    RequestFate::Refused,
                    RequestFate::CrashBefore,
                    RequestFate::CrashAfter,
                ];
                steps.extend(fates.map(|fate| SimStep::Send(0, fate)));
            }
            steps.push(SimStep::Crash(0));
        }
        if budget.travels > 0 {
            steps.push(if world.past.is_none() {
                SimStep::Freeze
            } else {
                SimStep::TimeTravel(0)
            });
        }
    }
}
