//! The search through all states: S20 in each of them, and L9: every Pod gets the volume.

use super::super::bugs::PlantedBug as _;
use super::super::effort::{Effort, ReportProgress};
use super::super::search;
use super::super::search::{Scoped, SearchModel, SearchNumbers};
use super::bugs::VolumesBug;
use super::decision::VolumesDecisions;
use super::world::{VolumesEvent, VolumesScope, VolumesWorld};

const SCOPES: &[VolumesScope] = &[
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

/// A scope, and what was decided in it.
pub(super) struct VolumesModel {
    scope: VolumesScope,
    decisions: VolumesDecisions,
}

/// Visits all states of every scope, and looks for each planted bug.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the bug that was not found.
pub(crate) fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<SearchNumbers, String> {
    search::prove::<VolumesModel>(effort, report)
}

impl SearchModel for VolumesModel {
    type State = VolumesWorld;
    type Event = VolumesEvent;
    type Covered = ();

    const ENDLESS: &'static str = "L9: a Pod does not get the volume";

    fn name(&self) -> String {
        format!("{}, {}", Self::NAME, self.scope.name)
    }

    fn start(&mut self) -> Result<VolumesWorld, String> {
        Ok(VolumesWorld::start(self.scope))
    }

    fn events(&mut self, state: &VolumesWorld) -> Vec<VolumesEvent> {
        state.events()
    }

    fn after(&mut self, state: &VolumesWorld, event: VolumesEvent) -> Result<Option<VolumesWorld>, String> {
        let mut after = *state;
        let broken = after.happen(event, &self.scope, &mut self.decisions);
        match broken.or_else(|| after.broken()) {
            Some(broken) => Err(broken.to_owned()),
            None => Ok(Some(after)),
        }
    }

    fn is_ended(&self, state: &VolumesWorld) -> bool {
        state.is_ended()
    }

    fn is_free(&self, before: &VolumesWorld, after: &VolumesWorld) -> bool {
        (after.pauses, after.faults) == (before.pauses, before.faults)
    }

    fn is_shown(&self, broken: &str) -> bool {
        self.decisions.bug.is_shown_by(broken)
    }

    fn covered(self) {}
}

impl Scoped for VolumesModel {
    type Scope = VolumesScope;
    type Bug = VolumesBug;

    const NAME: &'static str = "added templates";
    const SCOPES: &'static [VolumesScope] = SCOPES;
    const LEAST_EXHAUSTED: usize = SCOPES.len();
    const LEAST_STATES: usize = usize::MAX;

    fn of(scope: &'static VolumesScope, bug: VolumesBug) -> Self {
        Self {
            scope: *scope,
            decisions: VolumesDecisions::with(bug),
        }
    }

    fn scope_name(scope: &VolumesScope) -> &'static str {
        scope.name
    }
}
