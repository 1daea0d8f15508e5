//! Every order of things in a small scope: breadth first over the states of the model, each judged, and in the end the whole
//! graph asked whether the wish can be reached from everywhere, and stays reached.
//!
//! An own search and not that of a library: states are renamed before they are compared (uids and versions have no
//! meaning but their order), only fingerprints and edges are kept, and liveness is asked of the graph itself, which the
//! libraries at hand do only for paths without cycles.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};

use super::canon::{canonical, simplify};
use super::controller::Instance;
use super::inhabitants::people::Deed;
use super::inhabitants::storage::Resizing;
use super::log::Log;
use super::mind::Mind;
use super::objects::{ORDINALS, SLOTS};
use super::watch::Kind;
use super::workload::Workload;
use super::world::{Fate, Step, World};
use crate::rollout::invariants::{Broken, Rule, l1_reached};

/// What may happen in an exploration, and how often at most.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) workload: &'static str,
    /// Deeds, each at most once, in this order.
    pub(crate) deeds: Cow<'static, [Deed]>,
    /// Crashes, and other faults of requests.
    pub(crate) faults: u8,
    /// Travels back in time.
    pub(crate) travels: u8,
    /// A second controller.
    pub(crate) second: bool,
}

/// What is left of what may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Budget {
    deeds: u8,
    faults: u8,
    travels: u8,
}

/// The numbers of an exploration.
#[derive(Clone, Debug)]
pub(crate) struct Explored {
    scope: Scope,
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    /// Every state was visited.
    pub(crate) exhausted: bool,
}

/// A path to a state that breaks a guarantee.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) scope: Scope,
    pub(crate) steps: Vec<Step>,
    pub(crate) broken: Broken,
}

/// One state: where it was reached from, and by what.
struct Node {
    parent: u32,
    step: Step,
    /// The wish is reached.
    goal: bool,
    /// Nobody will interfere any more.
    spent: bool,
}

/// The search.
struct Search<'m> {
    scope: Scope,
    mind: &'m mut Mind,
    log: Log,
    nodes: Vec<Node>,
    known: FxHashMap<u64, u32>,
    /// From, to; and whether nobody but us and the cluster itself did it.
    edges: Vec<(u32, u32, bool)>,
    transitions: u64,
}

/// Visits the states of a scope, at most so many.
///
/// # Errors
/// [`Path`] to the first state that breaks a guarantee.
pub(crate) fn explore(scope: Scope, most: usize, mind: &mut Mind) -> Result<Explored, Box<Path>> {
    mind.silent = true;
    let mut search = Search {
        scope,
        mind,
        log: Log::default(),
        nodes: Vec::new(),
        known: FxHashMap::default(),
        edges: Vec::new(),
        transitions: 0,
    };
    let result = search.run(most);
    search.mind.silent = false;
    result
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scope {
            workload,
            deeds,
            faults,
            travels,
            second,
        } = &self.scope;
        let which = if self.exhausted { "every one of" } else { "the first" };
        write!(
            f,
            "{workload}, {} deeds, {faults} faults, {travels} travels in time",
            deeds.len()
        )?;
        if *second {
            f.write_str(", two controllers")?;
        }
        write!(f, ": {which} {} states, {} transitions", self.states, self.transitions)
    }
}

impl Search<'_> {
    fn run(&mut self, most: usize) -> Result<Explored, Box<Path>> {
        let workload = Workload::named(self.scope.workload).unwrap_or(&super::workloads::ALL[0]);
        let world = workload.start(self.mind, &mut self.log);
        let mut world = world.map_err(|broken| self.path(0, None, broken))?;
        if self.scope.second {
            world.instances[1] = Instance::started(&world.api);
        }
        let budget = Budget {
            deeds: 0,
            faults: self.scope.faults,
            travels: self.scope.travels,
        };
        self.meet(&world, budget, 0, Step::Start);
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
        world: &World,
        budget: Budget,
        next: &mut Vec<(u32, World, Budget)>,
    ) -> Result<(), Box<Path>> {
        for (step, left) in self.steps(world, budget) {
            let mut after = world.clone();
            let result = after.step(step, self.mind, &mut self.log);
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

    /// The number of a state, and whether it is new.
    fn meet(&mut self, world: &World, budget: Budget, parent: u32, step: Step) -> (u32, bool) {
        let mut hasher = FxHasher::default();
        canonical(world).hash(&mut hasher);
        budget.hash(&mut hasher);
        let print = hasher.finish();
        if let Some(number) = self.known.get(&print) {
            return (*number, false);
        }
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let goal = l1_reached(&world.facts().scene()).is_ok();
        let spent = usize::from(budget.deeds) == self.scope.deeds.len();
        self.nodes.push(Node {
            parent,
            step,
            goal,
            spent,
        });
        self.known.insert(print, number);
        (number, true)
    }

    /// What may happen next, and what is left then.
    fn steps(&self, world: &World, budget: Budget) -> Vec<(Step, Budget)> {
        let mut steps = Vec::with_capacity(32);
        let mut add = |step| steps.push((step, budget));
        let byte = |number: usize| u8::try_from(number).unwrap_or(0);
        for who in 0..if self.scope.second { 2 } else { 1 } {
            let instance = &world.instances[usize::from(who)];
            Kind::ALL[..3].iter().for_each(|kind| add(Step::Deliver(who, *kind)));
            add(if instance.reconcile.is_some() {
                Step::Send(who, Fate::Answered)
            } else {
                Step::Reconcile(who)
            });
        }
        [Step::Sync, Step::Observe, Step::Collect]
            .into_iter()
            .for_each(&mut add);
        (0..ORDINALS).for_each(|ordinal| add(Step::Kubelet(byte(ordinal))));
        for slot in (0..SLOTS).filter(|slot| world.api.claims[*slot].is_some()) {
            add(Step::Provision(byte(slot)));
            add(Step::Resize(byte(slot), Resizing::Finish));
        }
        if world
            .instances
            .iter()
            .any(|instance| instance.memory.refusals.iter().any(Option::is_some))
        {
            add(Step::Tick(301));
        }
        let longest = world.api.set.map_or(0, |set| set.min_ready());
        let ready = world.api.pods.iter().flatten().filter_map(|pod| pod.ready);
        if ready.min().is_some_and(|age| age < longest) {
            add(Step::Tick(longest));
        }
        // Whoever has read an older view may have said to nobody what became ready.
        if world.api.asleep.is_some() && budget.travels < self.scope.travels {
            steps.push((Step::Retry, budget));
        }
        self.disturbances(world, budget, &mut steps);
        steps
    }

    /// What may go wrong next, and what is left then.
    fn disturbances(&self, world: &World, budget: Budget, steps: &mut Vec<(Step, Budget)>) {
        if let Some(deed) = self.scope.deeds.get(usize::from(budget.deeds)) {
            steps.push((
                Step::Deed(*deed),
                Budget {
                    deeds: budget.deeds + 1,
                    ..budget
                },
            ));
        }
        if budget.faults > 0 {
            let left = Budget {
                faults: budget.faults - 1,
                ..budget
            };
            if world.instances[0].reconcile.is_some() {
                let fates = [Fate::ReplyLost, Fate::Refused, Fate::CrashBefore, Fate::CrashAfter];
                steps.extend(fates.map(|fate| (Step::Send(0, fate), left)));
            }
            steps.push((Step::Crash(0), left));
        }
        if budget.travels > 0 {
            let left = Budget {
                travels: budget.travels - 1,
                ..budget
            };
            steps.push((
                if world.past.is_none() {
                    Step::Freeze
                } else {
                    Step::TimeTravel(0)
                },
                left,
            ));
        }
    }

    fn path(&self, at: u32, last: Option<Step>, broken: Broken) -> Box<Path> {
        let mut steps: Vec<Step> = last.into_iter().collect();
        let mut at = at;
        while at != 0 {
            let node = &self.nodes[at as usize];
            steps.push(node.step);
            at = node.parent;
        }
        steps.reverse();
        Box::new(Path {
            scope: self.scope.clone(),
            steps,
            broken,
        })
    }

    /// L1 and L2: from every state the wish can be reached; and where it is reached it stays, unless somebody interferes.
    fn check_liveness(&self) -> Result<(), Box<Path>> {
        let broken = |why: &str| Broken {
            rule: Rule::L1,
            why: why.to_owned(),
        };
        let leaves = |(from, to, ours): &&(u32, u32, bool)| {
            let (from, to) = (&self.nodes[*from as usize], &self.nodes[*to as usize]);
            *ours && from.spent && from.goal && !to.goal
        };
        if let Some((from, ..)) = self.edges.iter().find(leaves) {
            return Err(self.path(*from, None, broken("the wish was reached, and did not stay")));
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
            Some(lost) => Err(self.path(number(lost), None, broken("from here the wish is never reached"))),
        }
    }
}
