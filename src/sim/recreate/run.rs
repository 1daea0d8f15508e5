//! The search in CI: every scope to its end, and each planted bug.

use std::fmt;
use std::time::Instant;

use super::super::run::{Effort, ReportProgress, all_exhausted};
use super::super::threads::each_in_threads;
use super::bugs::AnewBug;
use super::decision::AnewDecisions;
use super::objects::AnewStep;
use super::scopes::SCOPES;
use super::search::{AnewExplored, AnewPath, explore};

/// So many scopes are searched to the end, with the least effort.
const LEAST_EXHAUSTED: usize = 21;

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnewNumbers {
    scopes: usize,
    exhausted: usize,
    states: usize,
    transitions: usize,
    bugs: usize,
    seconds: u64,
}

/// Visits all states of every scope, and looks for each planted bug.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<AnewNumbers, String> {
    let started = Instant::now();
    let mut numbers = AnewNumbers::default();
    let mut kinds = 0;
    if effort.first > 0 {
        return Ok(numbers);
    }
    for explored in scopes(effort, report)? {
        numbers.scopes += 1;
        numbers.exhausted += usize::from(explored.is_exhausted);
        numbers.states += explored.states;
        numbers.transitions += explored.transitions;
        kinds |= explored.kinds;
    }
    all_exhausted(numbers.exhausted, LEAST_EXHAUSTED)?;
    let never = AnewStep::never(kinds);
    if !never.is_empty() {
        return Err(format!("re-creating, never decided: {}", never.join(", ")));
    }
    numbers.bugs = bugs(effort, report)?;
    numbers.seconds = started.elapsed().as_secs();
    Ok(numbers)
}

/// Explores the scopes.
fn scopes(effort: &Effort, report: ReportProgress<'_>) -> Result<Vec<AnewExplored>, String> {
    each_in_threads(SCOPES, |scope| {
        let mut decisions = AnewDecisions::with(AnewBug::None);
        let explored = explore(scope, effort.states, &mut decisions).map_err(|path| path.to_string())?;
        report(&explored.to_string());
        Ok(explored)
    })
}

/// Finds each planted bug. Returns their number.
fn bugs(effort: &Effort, report: ReportProgress<'_>) -> Result<usize, String> {
    let found = each_in_threads(AnewBug::ALL, |bug| {
        let path = find(*bug, effort.states).ok_or_else(|| format!("{bug:?} was not found: {}", bug.effect()))?;
        let (scope, steps, broken, effect) = (bug.scope(), path.events.len(), path.broken, bug.effect());
        report(&format!("{bug:?}: {scope}, {steps} steps: {broken} ({effect})"));
        Ok(())
    })?;
    Ok(found.len())
}

/// The first path on which the planted bug breaks its guarantee.
pub(super) fn find(bug: AnewBug, most: usize) -> Option<Box<AnewPath>> {
    let scope = SCOPES.iter().find(|scope| scope.name == bug.scope())?;
    let path = explore(scope, most, &mut AnewDecisions::with(bug)).err()?;
    bug.is_shown_by(&path.broken).then_some(path)
}

impl fmt::Display for AnewNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "re-creating: {} states, {} transitions, {} of {} scopes exhausted, {} planted bugs, each found; in {} s",
            self.states, self.transitions, self.exhausted, self.scopes, self.bugs, self.seconds
        )
    }
}
