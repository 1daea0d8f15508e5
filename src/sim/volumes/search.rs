//! All states of each scope, breadth first. S20 is checked in each; L9 on the whole graph: from every state, every Pod
//! gets the volume without any further action of a user or fault.

use std::collections::VecDeque;
use std::fmt;

use super::super::graph::StateGraph;
use super::decision::{VolumesBug, VolumesDecisions};
use super::world::{VolumesEvent, VolumesScope, VolumesWorld};

const SCOPES: [VolumesScope; 6] = [
    scope("added", false, false, false),
    scope("added and mounted", false, true, false),
    scope("added and mounted, in parallel", true, true, false),
    scope("added, in parallel", true, false, false),
    scope("by hand", false, true, true),
    scope("by hand, in parallel", true, true, true),
];

const fn scope(name: &'static str, parallel: bool, mounts: bool, wedged: bool) -> VolumesScope {
    VolumesScope {
        name,
        parallel,
        mounts,
        wedged,
        pauses: 2,
        faults: 2,
    }
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumesNumbers {
    states: usize,
    transitions: usize,
    bugs: usize,
}

/// A path to a state that breaks a guarantee.
#[derive(Debug)]
pub(super) struct VolumesPath {
    scope: VolumesScope,
    events: Vec<VolumesEvent>,
    pub(super) broken: &'static str,
}

/// Visits all states of every scope, and looks for each planted bug.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub fn prove() -> Result<VolumesNumbers, String> {
    let mut numbers = VolumesNumbers::default();
    for scope in SCOPES {
        let (states, transitions) =
            explore(scope, &mut VolumesDecisions::default()).map_err(|path| path.to_string())?;
        numbers.states += states;
        numbers.transitions += transitions;
    }
    for bug in VolumesBug::ALL {
        find(bug).ok_or_else(|| format!("{bug:?} was not found"))?;
        numbers.bugs += 1;
    }
    Ok(numbers)
}

/// The first path on which the planted bug breaks a guarantee.
pub(super) fn find(bug: VolumesBug) -> Option<VolumesPath> {
    let mut scopes = SCOPES.into_iter();
    scopes.find_map(|scope| explore(scope, &mut VolumesDecisions::with(bug)).err())
}

/// Returns the number of states and of transitions.
fn explore(scope: VolumesScope, decisions: &mut VolumesDecisions) -> Result<(usize, usize), VolumesPath> {
    let mut graph = StateGraph::new();
    let start = VolumesWorld::start(scope);
    graph.meet(&start, start.is_ended(), (0, VolumesEvent::Start));
    let path = |events, broken| VolumesPath { scope, events, broken };
    let mut queue = VecDeque::from([(0, start)]);
    let mut transitions = 0;
    while let Some((from, world)) = queue.pop_front() {
        for event in world.events() {
            let mut after = world;
            let broken = after.happen(event, &scope, decisions).or_else(|| after.broken());
            if let Some(broken) = broken {
                return Err(path(graph.path(from, Some(event)), broken));
            }
            transitions += 1;
            let (to, is_new) = graph.meet(&after, after.is_ended(), (from, event));
            if (after.pauses, after.faults) == (world.pauses, world.faults) {
                graph.leads(from, to);
            }
            if is_new {
                queue.push_back((to, after));
            }
        }
    }
    match graph.endless() {
        None => Ok((graph.len(), transitions)),
        Some(at) => Err(path(
            graph.path(at, None),
            "L9: a Pod does not get the volume from here",
        )),
    }
}

impl fmt::Display for VolumesPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "volumes, {}: {:?}", self.scope.name, self.events)?;
        write!(f, "BROKEN {}", self.broken)
    }
}

impl fmt::Display for VolumesNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "added templates: all {} states, {} transitions, {} planted bugs, each found",
            self.states, self.transitions, self.bugs
        )
    }
}
