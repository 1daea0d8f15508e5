//! All states of a scope, breadth first. S17 is checked in each; L7 on the whole graph: from every state the replacement
//! ends without any further action of a user or fault.

use std::fmt;

use super::super::graph::StateGraph;
use super::bugs::ReplaceBug;
use super::event::{ReplaceEvent, ReplaceScope};
use super::machines::Machines;
use super::world::ReplaceWorld;

/// The numbers of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplaceExplored {
    pub(crate) name: &'static str,
    pub(crate) states: usize,
    pub(crate) transitions: usize,
    /// Whether all states were visited, so that L7 was checked.
    pub(crate) exhausted: bool,
}

/// A path to a state that breaks a guarantee.
#[derive(Clone, Debug)]
pub(crate) struct ReplacePath {
    scope: ReplaceScope,
    bug: ReplaceBug,
    pub(crate) events: Vec<ReplaceEvent>,
    pub(crate) broken: &'static str,
}

struct ReplaceSearch<'d> {
    scope: ReplaceScope,
    machines: &'d mut Machines,
    graph: StateGraph<ReplaceEvent>,
    transitions: usize,
}

/// Visits at most `most` states.
///
/// # Errors
/// The path to the first state that breaks a guarantee.
pub(super) fn explore(
    scope: ReplaceScope,
    most: usize,
    machines: &mut Machines,
) -> Result<ReplaceExplored, Box<ReplacePath>> {
    let search = ReplaceSearch {
        scope,
        machines,
        graph: StateGraph::new(),
        transitions: 0,
    };
    search.run(most)
}

impl ReplaceSearch<'_> {
    fn run(mut self, most: usize) -> Result<ReplaceExplored, Box<ReplacePath>> {
        let scope = self.scope;
        let start = scope.start();
        self.graph.meet(&start, start.is_ended(), (0, ReplaceEvent::Start));
        let mut frontier = vec![(0, start)];
        while !frontier.is_empty() && self.graph.len() < most {
            let mut next = Vec::new();
            for (from, world) in frontier {
                self.visit(from, &world, &mut next)?;
            }
            frontier = next;
        }
        let exhausted = frontier.is_empty();
        if exhausted {
            self.check_end()?;
        }
        Ok(ReplaceExplored {
            name: scope.name,
            states: self.graph.len(),
            transitions: self.transitions,
            exhausted,
        })
    }

    fn visit(
        &mut self,
        from: u32,
        world: &ReplaceWorld,
        next: &mut Vec<(u32, ReplaceWorld)>,
    ) -> Result<(), Box<ReplacePath>> {
        for event in world.events(&self.scope) {
            let mut after = *world;
            let seen = after.happen(event, &self.scope, self.machines);
            let after = after.canonical();
            if let Some(broken) = seen.or_else(|| after.broken()) {
                // A planted bug is to be found by the effect that it names.
                if !broken.starts_with(self.machines.bug.breaks()) {
                    continue;
                }
                return Err(self.path(from, Some(event), broken));
            }
            self.transitions += 1;
            let (to, is_new) = self.graph.meet(&after, after.is_ended(), (from, event));
            if to != from && (after.actions, after.faults) == (world.actions, world.faults) {
                self.graph.leads(from, to);
            }
            if is_new {
                next.push((to, after));
            }
        }
        Ok(())
    }

    fn path(&self, at: u32, last: Option<ReplaceEvent>, broken: &'static str) -> Box<ReplacePath> {
        Box::new(ReplacePath {
            scope: self.scope,
            bug: self.machines.bug,
            events: self.graph.path(at, last),
            broken,
        })
    }

    /// L7.
    fn check_end(&mut self) -> Result<(), Box<ReplacePath>> {
        match self.graph.endless() {
            None => Ok(()),
            Some(at) => Err(self.path(at, None, "L7: the replacement does not end from here")),
        }
    }
}

impl ReplacePath {
    pub(super) const fn scope_name(&self) -> &'static str {
        self.scope.name
    }
}

impl fmt::Display for ReplacePath {
    /// The events, with what the controllers decided.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "replacing, {}:", self.scope.name)?;
        let mut machines = Machines::with(self.bug);
        let mut world = self.scope.start();
        for event in &self.events {
            world.happen(*event, &self.scope, &mut machines);
            world = world.canonical();
            write!(f, "  {event:?}")?;
            if let ReplaceEvent::Decide(place) = event {
                let step = world.processes[*place].and_then(|process| machines.step(&process));
                write!(f, ": {step:?}")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "{world:?}")?;
        write!(f, "BROKEN {}", self.broken)
    }
}

impl fmt::Display for ReplaceExplored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.exhausted { "every one of" } else { "the first" };
        write!(
            f,
            "replacing, {}: {which} {} states, {} transitions",
            self.name, self.states, self.transitions
        )
    }
}
