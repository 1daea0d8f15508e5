//! The search through all states: S17 in each of them, and L7: every replacement ends.

use super::super::bugs::PlantedBug as _;
use super::super::effort::{Effort, ReportProgress};
use super::super::search;
use super::super::search::{Scoped, SearchModel, SearchNumbers};
use super::bugs::ReplaceBug;
use super::event::{ReplaceEvent, ReplaceScope};
use super::machines::Machines;
use super::scopes::SCOPES;
use super::world::ReplaceWorld;

/// A scope, and the machines that were met in it.
pub(super) struct ReplaceModel {
    pub(super) scope: ReplaceScope,
    machines: Machines,
}

/// Visits all states of every scope, and looks for each planted bug.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub(crate) fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<SearchNumbers, String> {
    search::prove::<ReplaceModel>(effort, report)
}

impl SearchModel for ReplaceModel {
    type State = ReplaceWorld;
    type Event = ReplaceEvent;
    type Covered = ();

    const ENDLESS: &'static str = "L7: the replacement does not end";

    fn name(&self) -> String {
        format!("{}, {}", Self::NAME, self.scope.name)
    }

    fn start(&mut self) -> Result<ReplaceWorld, String> {
        Ok(self.scope.start())
    }

    fn events(&mut self, state: &ReplaceWorld) -> Vec<ReplaceEvent> {
        state.events(&self.scope)
    }

    fn after(&mut self, state: &ReplaceWorld, event: ReplaceEvent) -> Result<Option<ReplaceWorld>, String> {
        let mut after = *state;
        let broken = after.happen(event, &self.scope, &mut self.machines);
        let after = after.canonical();
        match broken.or_else(|| after.broken()) {
            Some(broken) => Err(broken.to_owned()),
            None => Ok(Some(after)),
        }
    }

    fn is_ended(&self, state: &ReplaceWorld) -> bool {
        state.is_ended()
    }

    fn is_free(&self, before: &ReplaceWorld, after: &ReplaceWorld) -> bool {
        (after.actions, after.faults) == (before.actions, before.faults)
    }

    fn is_shown(&self, broken: &str) -> bool {
        self.machines.bug.is_shown_by(broken)
    }

    fn words(&self, event: ReplaceEvent, after: Option<&ReplaceWorld>) -> String {
        match (event, after) {
            (ReplaceEvent::Decide(place), Some(after)) => {
                let step = after.processes[place].and_then(|process| self.machines.step(&process));
                format!("{event:?}: {step:?}")
            }
            _ => format!("{event:?}"),
        }
    }

    fn covered(self) {}
}

impl Scoped for ReplaceModel {
    type Scope = ReplaceScope;
    type Bug = ReplaceBug;

    const NAME: &'static str = "replacing";
    const SCOPES: &'static [ReplaceScope] = SCOPES;
    const LEAST_EXHAUSTED: usize = 23;
    const LEAST_STATES: usize = 920_000;

    fn of(scope: &'static ReplaceScope, bug: ReplaceBug) -> Self {
        let (scope, machines) = (*scope, Machines::with(bug));
        Self { scope, machines }
    }

    fn scope_name(scope: &ReplaceScope) -> &'static str {
        scope.name
    }
}
