//! The search in CI: every scope to its end, and each planted bug.

use std::fmt;
use std::time::Instant;

use super::super::run::{Effort, ReportProgress, all_exhausted};
use super::super::threads::each_in_threads;
use super::bugs::ReplaceBug;
use super::machines::Machines;
use super::scopes::SCOPES;
use super::search::{ReplaceExplored, ReplacePath, explore};

/// The most states of a scope in which a planted bug is looked for.
pub(super) const PLANTED_STATES: usize = 1_000_000;

/// At least so many states of a scope are visited.
const SCOPE_STATES: usize = 920_000;

/// So many scopes are searched to the end, with the least effort.
const LEAST_EXHAUSTED: usize = 23;

/// The numbers of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplaceNumbers {
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
pub fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<ReplaceNumbers, String> {
    let started = Instant::now();
    let mut numbers = ReplaceNumbers::default();
    if effort.first > 0 {
        return Ok(numbers);
    }
    for explored in scopes(effort, report)? {
        numbers.scopes += 1;
        numbers.exhausted += usize::from(explored.exhausted);
        numbers.states += explored.states;
        numbers.transitions += explored.transitions;
    }
    all_exhausted(numbers.exhausted, LEAST_EXHAUSTED)?;
    numbers.bugs = bugs(report)?;
    numbers.seconds = started.elapsed().as_secs();
    Ok(numbers)
}

/// Explores the scopes.
fn scopes(effort: &Effort, report: ReportProgress<'_>) -> Result<Vec<ReplaceExplored>, String> {
    each_in_threads(SCOPES, |scope| {
        let explored = explore(*scope, effort.states.max(SCOPE_STATES), &mut Machines::default())
            .map_err(|path| path.to_string())?;
        report(&explored.to_string());
        Ok(explored)
    })
}

/// Finds each planted bug. Returns their number.
fn bugs(report: ReportProgress<'_>) -> Result<usize, String> {
    let found = each_in_threads(ReplaceBug::ALL, |bug| {
        let path = find(*bug).ok_or_else(|| format!("{bug:?} was not found: {}", bug.effect()))?;
        let (name, steps, broken) = (path.scope_name(), path.events.len(), path.broken);
        report(&format!("{bug:?}: {name}, {steps} steps: {broken} ({})", bug.effect()));
        Ok(())
    })?;
    Ok(found.len())
}

/// The first path on which the planted bug breaks its guarantee.
pub(super) fn find(bug: ReplaceBug) -> Option<Box<ReplacePath>> {
    let scope = SCOPES.iter().find(|scope| scope.name == bug.scope())?;
    let path = explore(*scope, PLANTED_STATES, &mut Machines::with(bug)).err()?;
    path.broken.starts_with(bug.breaks()).then_some(path)
}

impl fmt::Display for ReplaceNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "replacing: {} states, {} transitions, {} of {} scopes exhausted, {} planted bugs, each found; in {} s",
            self.states, self.transitions, self.exhausted, self.scopes, self.bugs, self.seconds
        )
    }
}
