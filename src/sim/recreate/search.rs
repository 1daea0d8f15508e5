//! All states of a scope, breadth first. S4 and L8 are checked at each step; that a rollout ends, on the whole graph.

use std::fmt;
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHasher};

use super::bugs::AnewBug;
use super::decision::AnewDecisions;
use super::event::happen;
use super::scopes::AnewScope;
use super::world::{AnewEvent, AnewWorld};

/// The numbers of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnewExplored {
    pub(super) name: &'static str,
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// Whether all states were visited, so that the end was checked.
    pub(super) is_exhausted: bool,
}

/// A path to a state that breaks a guarantee.
#[derive(Clone, Debug)]
pub(super) struct AnewPath {
    scope: AnewScope,
    bug: AnewBug,
    pub(super) events: Vec<AnewEvent>,
    pub(super) broken: String,
}

#[derive(Default)]
struct AnewGraph {
    /// The parent of each state, the event from there, and whether the rollout has ended.
    nodes: Vec<(u32, AnewEvent, bool)>,
    known: FxHashMap<u64, u32>,
    /// Steps without users, backwards: to, from.
    edges: Vec<(u32, u32)>,
}

/// Visits at most `most` states.
///
/// # Errors
/// The path to the first state that breaks a guarantee.
pub(super) fn explore(
    scope: &AnewScope,
    most: usize,
    decisions: &mut AnewDecisions,
) -> Result<AnewExplored, Box<AnewPath>> {
    let mut graph = AnewGraph::default();
    let start = AnewWorld::start(scope);
    graph.meet(&start, 0, AnewEvent::Start);
    let mut frontier = vec![(0, start)];
    let mut transitions = 0;
    while !frontier.is_empty() && graph.nodes.len() < most {
        let mut next = Vec::new();
        for (from, world) in frontier {
            for event in world.events(scope) {
                let mut after = world;
                if let Err(broken) = happen(&mut after, event, decisions) {
                    return Err(graph.path(scope, decisions.bug, from, Some(event), broken.to_string()));
                }
                transitions += 1;
                let (to, is_new) = graph.meet(&after, from, event);
                if to != from && after.actions == world.actions {
                    graph.edges.push((to, from));
                }
                if is_new {
                    next.push((to, after));
                }
            }
        }
        frontier = next;
    }
    let is_exhausted = frontier.is_empty();
    if let Some(at) = is_exhausted.then(|| graph.endless()).flatten() {
        let broken = "L7: the rollout does not end from here".to_owned();
        return Err(graph.path(scope, decisions.bug, at, None, broken));
    }
    Ok(AnewExplored {
        name: scope.name,
        states: graph.nodes.len(),
        transitions,
        is_exhausted,
    })
}

impl AnewGraph {
    /// The number of a state, and whether it is new.
    fn meet(&mut self, world: &AnewWorld, parent: u32, event: AnewEvent) -> (u32, bool) {
        let mut hasher = FxHasher::default();
        world.hash(&mut hasher);
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let known = *self.known.entry(hasher.finish()).or_insert(number);
        if known == number {
            self.nodes.push((parent, event, world.is_ended()));
        }
        (known, known == number)
    }

    fn path(
        &self,
        scope: &AnewScope,
        bug: AnewBug,
        mut at: u32,
        last: Option<AnewEvent>,
        broken: String,
    ) -> Box<AnewPath> {
        let mut events: Vec<AnewEvent> = last.into_iter().collect();
        while at != 0 {
            let (parent, event, _) = self.nodes[at as usize];
            events.push(event);
            at = parent;
        }
        events.reverse();
        Box::new(AnewPath {
            scope: *scope,
            bug,
            events,
            broken,
        })
    }

    /// A state from which no end is reached.
    fn endless(&mut self) -> Option<u32> {
        self.edges.sort_unstable();
        let mut ends: Vec<bool> = self.nodes.iter().map(|(_, _, is_ended)| *is_ended).collect();
        let ended = (0_u32..).zip(&ends).filter(|(_, is_ended)| **is_ended);
        let mut stack: Vec<u32> = ended.map(|(at, _)| at).collect();
        while let Some(at) = stack.pop() {
            let first = self.edges.partition_point(|(to, _)| *to < at);
            for (_, from) in self.edges[first..].iter().take_while(|(to, _)| *to == at) {
                if !std::mem::replace(&mut ends[*from as usize], true) {
                    stack.push(*from);
                }
            }
        }
        (0_u32..).zip(&ends).find(|(_, ends)| !**ends).map(|(at, _)| at)
    }
}

impl fmt::Display for AnewPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "re-creating, {}:", self.scope.name)?;
        let mut decisions = AnewDecisions::with(self.bug);
        let mut world = AnewWorld::start(&self.scope);
        for event in &self.events {
            let happened = happen(&mut world, *event, &mut decisions);
            write!(f, "  {event:?}")?;
            if let AnewEvent::Decide(place) = event {
                write!(f, ": {:?}", world.processes[*place].and_then(|process| process.step))?;
            }
            writeln!(f, "{}", if happened.is_err() { " !" } else { "" })?;
        }
        writeln!(f, "{world:?}")?;
        write!(f, "BROKEN {}", self.broken)
    }
}

impl fmt::Display for AnewExplored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.is_exhausted { "every one of" } else { "the first" };
        write!(
            f,
            "re-creating, {}: {which} {} states, {} transitions",
            self.name, self.states, self.transitions
        )
    }
}
