//! All states of a model, breadth first. Each is checked, and in the end the whole graph: from every state, the model ends
//! without any further action of a user or fault.
//!
//! This is not a library, for three reasons: states are made canonical before they are compared, only fingerprints and
//! edges are kept, and liveness is checked on the whole graph. The known libraries check liveness only on paths without
//! cycles.

use std::fmt;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher as _};
use std::time::Instant;

use rustc_hash::FxHasher;

use super::bugs::PlantedBug;
use super::effort::{Effort, ReportProgress};
use super::graph::StateGraph;
use super::threads::each_in_threads;

/// The most states of a scope in which a planted bug is looked for.
const PLANTED_STATES: usize = 1_000_000;

/// A model, with everything that its states have in common.
pub(super) trait SearchModel {
    /// Its hash contains everything in which two states differ.
    type State: Clone + fmt::Debug + Hash;
    type Event: Copy + fmt::Debug;
    /// What a search has covered.
    type Covered: Send;

    /// How the message begins if the model does not end.
    const ENDLESS: &'static str;

    /// The name of the model and of its scope.
    fn name(&self) -> String;

    /// The first state.
    ///
    /// # Errors
    /// The guarantee that it breaks.
    fn start(&mut self) -> Result<Self::State, String>;

    /// What may happen in a state. It is asked once for each state, before anything happens in it.
    fn events(&mut self, state: &Self::State) -> Vec<Self::Event>;

    /// The state after an event. None if the event is not possible.
    ///
    /// # Errors
    /// The guarantee that the event breaks.
    fn after(&mut self, state: &Self::State, event: Self::Event) -> Result<Option<Self::State>, String>;

    /// True iff the model may stop in this state.
    fn is_ended(&self, state: &Self::State) -> bool;

    /// True iff a step between these states needs neither a user nor a fault.
    fn is_free(&self, before: &Self::State, after: &Self::State) -> bool;

    /// True iff this guarantee was to be broken.
    fn is_shown(&self, _broken: &str) -> bool {
        true
    }

    /// An event of a path as text, with the state after it.
    fn words(&self, event: Self::Event, _after: Option<&Self::State>) -> String {
        format!("{event:?}")
    }

    fn covered(self) -> Self::Covered;
}

/// A model with scopes and planted bugs of its own.
pub(super) trait Scoped: SearchModel + Sized {
    type Scope: Sync + 'static;
    type Bug: PlantedBug;

    /// The name of the model.
    const NAME: &'static str;
    const SCOPES: &'static [Self::Scope];
    /// So many scopes are searched to the end, with the least effort.
    const LEAST_EXHAUSTED: usize;
    /// At least so many states of a scope are visited.
    const LEAST_STATES: usize = 0;

    fn of(scope: &'static Self::Scope, bug: Self::Bug) -> Self;

    fn scope_name(scope: &Self::Scope) -> &'static str;

    /// What no scope has covered.
    fn missing(_covered: &[Self::Covered]) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The numbers of a search.
#[derive(Clone, Debug)]
pub(super) struct Explored {
    name: String,
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// All states were visited, so that the end was checked.
    pub(super) exhausted: bool,
}

/// A path to a state that breaks a guarantee.
#[derive(Clone, Debug)]
pub(super) struct StatePath {
    name: String,
    pub(super) steps: usize,
    pub(super) broken: String,
    text: String,
}

/// The numbers of a run.
#[derive(Clone, Debug, Default)]
pub struct SearchNumbers {
    name: &'static str,
    scopes: usize,
    exhausted: usize,
    states: usize,
    transitions: usize,
    bugs: usize,
    seconds: u64,
}

/// Visits at most `most` states.
///
/// # Errors
/// The path to the first state that breaks a guarantee.
pub(super) fn explore<M: SearchModel>(model: &mut M, most: usize) -> Result<Explored, Box<StatePath>> {
    let mut graph = StateGraph::new();
    let start = model
        .start()
        .map_err(|broken| Box::new(StatePath::of(model, &[], broken)))?;
    meet(model, &mut graph, &start, None);
    let mut frontier = vec![(0, start)];
    let mut transitions = 0;
    while !frontier.is_empty() && graph.len() < most {
        let mut next = Vec::new();
        for (from, state) in frontier {
            for event in model.events(&state) {
                let after = match model.after(&state, event) {
                    Ok(Some(after)) => after,
                    Ok(None) => continue,
                    Err(broken) if model.is_shown(&broken) => {
                        return Err(Box::new(StatePath::of(model, &graph.path(from, Some(event)), broken)));
                    }
                    // A planted bug is to be found by what it was planted for.
                    Err(_) => continue,
                };
                transitions += 1;
                let (to, is_new) = meet(model, &mut graph, &after, Some((from, event)));
                if to != from && model.is_free(&state, &after) {
                    graph.leads(from, to);
                }
                if is_new {
                    next.push((to, after));
                }
            }
        }
        frontier = next;
    }
    let exhausted = frontier.is_empty();
    match exhausted.then(|| graph.endless()).flatten() {
        Some(at) => {
            let broken = format!("{} from here", M::ENDLESS);
            Err(Box::new(StatePath::of(model, &graph.path(at, None), broken)))
        }
        None => Ok(Explored {
            name: model.name(),
            states: graph.len(),
            transitions,
            exhausted,
        }),
    }
}

fn meet<M: SearchModel>(
    model: &M,
    graph: &mut StateGraph<M::Event>,
    state: &M::State,
    from: Option<(u32, M::Event)>,
) -> (u32, bool) {
    let mut hasher = FxHasher::default();
    state.hash(&mut hasher);
    graph.meet(hasher.finish(), || model.is_ended(state), from)
}

/// Visits the states of each scope. Returns the numbers, and what was covered.
///
/// # Errors
/// The path to the first state that breaks a guarantee.
pub(super) fn each_scope<S: Sync, M: SearchModel>(
    scopes: &[S],
    of: impl Fn(&S) -> M + Sync,
    most: usize,
    report: ReportProgress<'_>,
) -> Result<(SearchNumbers, Vec<M::Covered>), String> {
    let found = each_in_threads(scopes, |scope| {
        let mut model = of(scope);
        let explored = explore(&mut model, most).map_err(|path| path.to_string())?;
        report(&explored.to_string());
        Ok((explored, model.covered()))
    })?;
    let mut numbers = SearchNumbers::default();
    let count = |(explored, covered): (Explored, M::Covered)| {
        numbers.scopes += 1;
        numbers.exhausted += usize::from(explored.exhausted);
        numbers.states += explored.states;
        numbers.transitions += explored.transitions;
        covered
    };
    let covered = found.into_iter().map(count).collect();
    Ok((numbers, covered))
}

/// Visits the states of every scope of a model, and looks for each of its planted bugs.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub(super) fn prove<M: Scoped>(effort: &Effort, report: ReportProgress<'_>) -> Result<SearchNumbers, String> {
    let started = Instant::now();
    if effort.first > 0 {
        return Ok(SearchNumbers::default());
    }
    let most = effort.states.max(M::LEAST_STATES);
    let of = |scope: &&'static M::Scope| M::of(scope, M::Bug::default());
    let scopes: Vec<&M::Scope> = M::SCOPES.iter().collect();
    let (mut numbers, covered) = each_scope(&scopes, of, most, report)?;
    numbers.name = M::NAME;
    numbers.all_exhausted(M::LEAST_EXHAUSTED)?;
    let missing = M::missing(&covered);
    if !missing.is_empty() {
        return Err(format!("{}, never decided: {}", M::NAME, missing.join(", ")));
    }
    let found = each_in_threads(M::Bug::ALL, |bug| {
        let path = find::<M>(*bug, PLANTED_STATES);
        let path = path.ok_or_else(|| format!("{bug:?} was not found: {}", bug.effect()))?;
        let StatePath {
            name, steps, broken, ..
        } = *path;
        report(&format!("{bug:?}: {name}, {steps} steps: {broken} ({})", bug.effect()));
        Ok(())
    })?;
    numbers.bugs = found.len();
    numbers.seconds = started.elapsed().as_secs();
    Ok(numbers)
}

/// The first path on which a planted bug breaks its guarantee.
pub(super) fn find<M: Scoped>(bug: M::Bug, most: usize) -> Option<Box<StatePath>> {
    let is_of_bug = |scope: &&M::Scope| bug.scope().is_empty() || M::scope_name(scope) == bug.scope();
    let paths = M::SCOPES.iter().filter(is_of_bug);
    let mut paths = paths.filter_map(|scope| explore(&mut M::of(scope, bug), most).err());
    paths.find(|path| bug.is_shown_by(&path.broken))
}

impl SearchNumbers {
    pub(super) const fn states(&self) -> (usize, usize) {
        (self.states, self.transitions)
    }

    pub(super) const fn scopes(&self) -> (usize, usize) {
        (self.exhausted, self.scopes)
    }

    /// Compares the scopes that were searched to the end with those that have to be.
    pub(super) fn all_exhausted(&self, least: usize) -> Result<(), String> {
        if self.exhausted < least {
            let exhausted = self.exhausted;
            return Err(format!("{exhausted} scopes were searched to the end, expected {least}"));
        }
        Ok(())
    }
}

impl StatePath {
    fn of<M: SearchModel>(model: &mut M, events: &[M::Event], broken: String) -> Self {
        let mut text = format!("{}:\n", model.name());
        let mut state = model.start().ok();
        for event in events {
            let after = state
                .as_ref()
                .and_then(|state| model.after(state, *event).ok().flatten());
            let _ = writeln!(text, "  {}", model.words(*event, after.as_ref()));
            state = after.or(state);
        }
        let _ = write!(text, "{state:?}\nBROKEN {broken}");
        Self {
            name: model.name(),
            steps: events.len(),
            broken,
            text,
        }
    }
}

impl fmt::Display for StatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = if self.exhausted { "every one of" } else { "the first" };
        let (name, states, transitions) = (&self.name, self.states, self.transitions);
        write!(f, "{name}: {which} {states} states, {transitions} transitions")
    }
}

impl fmt::Display for SearchNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, states, transitions) = (self.name, self.states, self.transitions);
        write!(
            f,
            "{name}: {states} states, {transitions} transitions, {} of {} scopes exhausted, {} planted bugs, each found; in {} s",
            self.exhausted, self.scopes, self.bugs, self.seconds
        )
    }
}
