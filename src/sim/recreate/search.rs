//! The search through all states: S4 and L8 at each step, and that a rollout ends.

use super::super::bugs::PlantedBug as _;
use super::super::effort::{Effort, ReportProgress};
use super::super::search;
use super::super::search::{Scoped, SearchModel, SearchNumbers};
use super::bugs::AnewBug;
use super::decision::AnewDecisions;
use super::event::happen;
use super::objects::AnewStep;
use super::scopes::{AnewScope, SCOPES};
use super::transition::AnewEvent;
use super::world::AnewWorld;

/// A scope, and what was decided in it.
pub(super) struct AnewModel {
    scope: AnewScope,
    decisions: AnewDecisions,
    /// The kinds of steps that were decided, a bit each.
    kinds: u8,
}

/// Visits all states of every scope, and looks for each planted bug.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub(crate) fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<SearchNumbers, String> {
    search::prove::<AnewModel>(effort, report)
}

impl SearchModel for AnewModel {
    type State = AnewWorld;
    type Event = AnewEvent;
    type Covered = u8;

    const ENDLESS: &'static str = "L7: the rollout does not end";

    fn name(&self) -> String {
        format!("{}, {}", Self::NAME, self.scope.name)
    }

    fn start(&mut self) -> Result<AnewWorld, String> {
        Ok(AnewWorld::start(&self.scope))
    }

    fn events(&mut self, state: &AnewWorld) -> Vec<AnewEvent> {
        state.events(&self.scope)
    }

    fn after(&mut self, state: &AnewWorld, event: AnewEvent) -> Result<Option<AnewWorld>, String> {
        let mut after = state.clone();
        happen(&mut after, event, &mut self.decisions).map_err(|broken| broken.to_string())?;
        if let Some(step) = event.process().and_then(|place| after.sending(place)) {
            self.kinds |= 1 << step.kind();
        }
        Ok(Some(after))
    }

    fn is_ended(&self, state: &AnewWorld) -> bool {
        state.is_ended()
    }

    fn is_free(&self, before: &AnewWorld, after: &AnewWorld) -> bool {
        after.actions == before.actions
    }

    fn is_shown(&self, broken: &str) -> bool {
        self.decisions.bug.is_shown_by(broken)
    }

    fn words(&self, event: AnewEvent, after: Option<&AnewWorld>) -> String {
        let step = event.process().and_then(|place| after?.sending(place));
        step.map_or_else(|| format!("{event:?}"), |step| format!("{event:?}, next {step:?}"))
    }

    fn covered(self) -> u8 {
        self.kinds
    }
}

impl Scoped for AnewModel {
    type Scope = AnewScope;
    type Bug = AnewBug;

    const NAME: &'static str = "re-creating";
    const SCOPES: &'static [AnewScope] = SCOPES;
    const LEAST_EXHAUSTED: usize = 21;

    fn of(scope: &'static AnewScope, bug: AnewBug) -> Self {
        Self {
            scope: *scope,
            decisions: AnewDecisions::with(bug),
            kinds: 0,
        }
    }

    fn scope_name(scope: &AnewScope) -> &'static str {
        scope.name
    }

    fn missing(covered: &[u8]) -> Vec<&'static str> {
        AnewStep::never(covered.iter().fold(0, |all, kinds| all | kinds))
    }
}
