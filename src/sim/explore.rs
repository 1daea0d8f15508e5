//! All states of a small scope: breadth first, each state checked, and in the end the graph searched for states from
//! which the target cannot be reached.
//!
//! This is not a library, for three reasons: states are made canonical before they are compared, only fingerprints
//! and edges are kept, and liveness is checked on the whole graph. The known libraries check liveness only on paths
//! without cycles.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};

use super::actors::action::UserAction;
use super::actors::storage::Resizing;
use super::canonical::{canonical, simplify};
use super::controller::Instance;
use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ORDINALS, SLOTS};
use super::step::{RequestFate, SimStep};
use super::watch::WatchKind;
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
struct SearchBudget {
    actions: u8,
    faults: u8,
    travels: u8,
}

/// The numbers of an exploration.
#[derive(Clone, Debug)]
pub(crate) struct Explored {
    scope: SearchScope,
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    /// All states were visited.
    pub(crate) exhausted: bool,
}

/// A path to a state that breaks a guarantee.
#[derive(Clone, Debug)]
pub(crate) struct StatePath {
    pub(crate) scope: SearchScope,
    pub(crate) steps: Vec<SimStep>,
    pub(crate) broken: Broken,
}

/// A state: its parent, and the step from there.
struct Node {
    parent: u32,
    step: SimStep,
    /// The target is reached.
    goal: bool,
    /// The target is reached, but for the phase: a controller with an older view may take that back for a moment.
    stays: bool,
    /// No user action is left.
    spent: bool,
}

/// A search in progress.
struct Search<'m> {
    scope: SearchScope,
    decisions: &'m mut Decisions,
    log: Log,
    nodes: Vec<Node>,
    known: FxHashMap<u64, u32>,
    /// From, to, and whether the step used up no budget.
    edges: Vec<(u32, u32, bool)>,
    transitions: u64,
}

/// Visits at most `most` states of a scope.
///
/// # Errors
/// [`StatePath`] to the first state that breaks a guarantee.
pub(crate) fn explore(scope: SearchScope, most: usize, decisions: &mut Decisions) -> Result<Explored, Box<StatePath>> {
    decisions.silent = true;
    let mut search = Search {
        scope,
        decisions,
        log: Log::default(),
        nodes: Vec::new(),
        known: FxHashMap::default(),
        edges: Vec::new(),
        transitions: 0,
    };
    let result = search.run(most);
    search.decisions.silent = false;
    result
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SearchScope {
            workload,
            actions,
            faults,
            travels,
            second,
        } = &self.scope;
        let which = if self.exhausted { "every one of" } else { "the first" };
        write!(
            f,
            "{workload}, {} user actions, {faults} faults, {travels} older views",
            actions.len()
        )?;
        if *second {
            f.write_str(", two controllers")?;
        }
        write!(f, ": {which} {} states, {} transitions", self.states, self.transitions)
    }
}

impl Search<'_> {
    fn run(&mut self, most: usize) -> Result<Explored, Box<StatePath>> {
        let workload = Workload::named(self.scope.workload).unwrap_or(&workloads::ALL[0]);
        let world = workload.start(self.decisions, &mut self.log);
        let mut world = world.map_err(|broken| self.path(0, None, broken))?;
        if self.scope.second {
            world.instances[1] = Instance::started(&world.api);
        }
        let budget = SearchBudget {
            actions: 0,
            faults: self.scope.faults,
            travels: self.scope.travels,
        };
        self.meet(&world, budget, 0, SimStep::Start);
        let mut frontier = vec![(0, world, budget)];
        let mut exhausted = true;
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for (from, world, budget) in frontier {
                self.visit(from, &world, budget, &mut next)?;
            }
            frontier = next;
            if self.nodes.len() >= most {
                exhausted = frontier.is_empty();
                break;
            }
        }
        if exhausted {
            self.check_liveness()?;
        }
        Ok(Explored {
            scope: self.scope.clone(),
            states: self.nodes.len(),
            transitions: self.transitions,
            exhausted,
        })
    }

    fn visit(
        &mut self,
        from: u32,
        world: &SimWorld,
        budget: SearchBudget,
        next: &mut Vec<(u32, SimWorld, SearchBudget)>,
    ) -> Result<(), Box<StatePath>> {
        for (step, left) in self.steps(world, budget) {
            let mut after = world.clone();
            let result = after.step(step, self.decisions, &mut self.log);
            let happened = result.map_err(|broken| self.path(from, Some(step), broken))?;
            if !happened {
                continue;
            }
            self.transitions += 1;
            simplify(&mut after);
            let (to, new) = self.meet(&after, left, from, step);
            if to != from {
                self.edges.push((from, to, left == budget));
            }
            if new {
                next.push((to, after, left));
            }
        }
        Ok(())
    }

    /// The number of a state, and whether the state is new.
    fn meet(&mut self, world: &SimWorld, budget: SearchBudget, parent: u32, step: SimStep) -> (u32, bool) {
        let mut hasher = FxHasher::default();
        canonical(world).hash(&mut hasher);
        budget.hash(&mut hasher);
        let print = hasher.finish();
        if let Some(number) = self.known.get(&print) {
            return (*number, false);
        }
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let facts = world.facts();
        let scene = facts.scene();
        let goal = l1_reached(&scene).is_ok();
        let set = scene.set.map(|set| SetFacts { complete: true, ..set });
        let older = self.scope.second || self.scope.travels > 0;
        let stays = goal || older && l1_reached(&Scene { set, ..scene }).is_ok();
        let spent = usize::from(budget.actions) == self.scope.actions.len();
        self.nodes.push(Node {
            parent,
            step,
            goal,
            stays,
            spent,
        });
        self.known.insert(print, number);
        (number, true)
    }

    /// The possible next steps, with the budget after each.
    fn steps(&self, world: &SimWorld, budget: SearchBudget) -> Vec<(SimStep, SearchBudget)> {
        let mut steps = Vec::with_capacity(32);
        let mut add = |step| steps.push((step, budget));
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
            steps.push((SimStep::Retry, budget));
        }
        self.disturbances(world, budget, &mut steps);
        steps
    }

    /// The possible faults and user actions, with the budget after each.
    fn disturbances(&self, world: &SimWorld, budget: SearchBudget, steps: &mut Vec<(SimStep, SearchBudget)>) {
        if let Some(action) = self.scope.actions.get(usize::from(budget.actions)) {
            steps.push((
                SimStep::User(*action),
                SearchBudget {
                    actions: budget.actions + 1,
                    ..budget
                },
            ));
        }
        if budget.faults > 0 {
            let left = SearchBudget {
                faults: budget.faults - 1,
                ..budget
            };
            if world.instances[0].reconcile.is_some() {
                let fates = [
                    RequestFate::ReplyLost,
                    RequestFate::Refused,
                    RequestFate::CrashBefore,
                    RequestFate::CrashAfter,
                ];
                steps.extend(fates.map(|fate| (SimStep::Send(0, fate), left)));
            }
            steps.push((SimStep::Crash(0), left));
        }
        if budget.travels > 0 {
            let left = SearchBudget {
                travels: budget.travels - 1,
                ..budget
            };
            steps.push((
                if world.past.is_none() {
                    SimStep::Freeze
                } else {
                    SimStep::TimeTravel(0)
                },
                left,
            ));
        }
    }

    fn path(&self, at: u32, last: Option<SimStep>, broken: Broken) -> Box<StatePath> {
        let mut steps: Vec<SimStep> = last.into_iter().collect();
        let mut at = at;
        while at != 0 {
            let node = &self.nodes[at as usize];
            steps.push(node.step);
            at = node.parent;
        }
        steps.reverse();
        Box::new(StatePath {
            scope: self.scope.clone(),
            steps,
            broken,
        })
    }

    /// L1 and L2: the target can be reached from every state; where it is reached, it stays reached without user
    /// actions.
    fn check_liveness(&self) -> Result<(), Box<StatePath>> {
        let broken = |why: &str| Broken {
            rule: Rule::L1,
            why: why.to_owned(),
        };
        let leaves = |(from, to, ours): &&(u32, u32, bool)| {
            let (from, to) = (&self.nodes[*from as usize], &self.nodes[*to as usize]);
            *ours && from.spent && from.goal && !to.stays
        };
        if let Some((from, ..)) = self.edges.iter().find(leaves) {
            return Err(self.path(*from, None, broken("the target was reached, but did not stay reached")));
        }
        let mut starts = vec![0_u32; self.nodes.len() + 1];
        for (_, to, _) in &self.edges {
            starts[*to as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut into = vec![0_u32; self.edges.len()];
        let mut filled = starts.clone();
        for (from, to, _) in &self.edges {
            let place = &mut filled[*to as usize];
            into[*place as usize] = *from;
            *place += 1;
        }
        let mut reaches: Vec<bool> = self.nodes.iter().map(|node| node.goal).collect();
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let mut stack: Vec<u32> = (0..reaches.len()).filter(|place| reaches[*place]).map(number).collect();
        while let Some(at) = stack.pop() {
            for from in &into[starts[at as usize] as usize..starts[at as usize + 1] as usize] {
                if !std::mem::replace(&mut reaches[*from as usize], true) {
                    stack.push(*from);
                }
            }
        }
        match reaches.iter().position(|reaches| !reaches) {
            None => Ok(()),
            Some(lost) => Err(self.path(number(lost), None, broken("the target cannot be reached from here"))),
        }
    }
}
