//! All states of a scope, breadth first. S4 and L8 are checked at each step; that a rollout ends, on the whole graph.

use std::fmt;

use super::super::graph::StateGraph;
use super::bugs::AnewBug;
use super::decision::AnewDecisions;
use super::event::happen;
use super::scopes::AnewScope;
use super::transition::AnewEvent;
use super::world::AnewWorld;

/// The numbers of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnewExplored {
    pub(super) name: &'static str,
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// The kinds of steps that were decided, a bit each.
    pub(super) kinds: u8,
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

/// Visits at most `most` states.
///
/// # Errors
/// The path to the first state that breaks a guarantee.
pub(super) fn explore(
    scope: &AnewScope,
    most: usize,
    decisions: &mut AnewDecisions,
) -> Result<AnewExplored, Box<AnewPath>> {
    let mut graph = StateGraph::new();
    let start = AnewWorld::start(scope);
    graph.meet(&start, start.is_ended(), (0, AnewEvent::Start));
    let bug = decisions.bug;
    let path = |events: Vec<AnewEvent>, broken: String| {
        Box::new(AnewPath {
            scope: *scope,
            bug,
            events,
            broken,
        })
    };
    let mut frontier = vec![(0, start)];
    let (mut transitions, mut kinds) = (0, 0);
    while !frontier.is_empty() && graph.len() < most {
        let mut next = Vec::new();
        for (from, world) in frontier {
            for event in world.events(scope) {
                let mut after = world;
                if let Err(broken) = happen(&mut after, event, decisions) {
                    let broken = broken.to_string();
                    // A planted bug is to be found by what it was planted for.
                    if !bug.is_shown_by(&broken) {
                        continue;
                    }
                    return Err(path(graph.path(from, Some(event)), broken));
                }
                transitions += 1;
                if let AnewEvent::Decide(place) = event
                    && let Some(step) = after.processes[place].and_then(|process| process.step)
                {
                    kinds |= 1 << step.kind();
                }
                let (to, is_new) = graph.meet(&after, after.is_ended(), (from, event));
                if to != from && after.actions == world.actions {
                    graph.leads(from, to);
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
        return Err(path(graph.path(at, None), broken));
    }
    Ok(AnewExplored {
        name: scope.name,
        states: graph.len(),
        transitions,
        kinds,
        is_exhausted,
    })
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
