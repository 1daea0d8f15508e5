//! What a replacement keeps between two decisions.

use std::time::Duration;

use tokio::time::Instant;

use super::cluster::Sight;
use crate::api::ReplacementReason;
use crate::replace::world::{CountQuota, Dependents, DryRuns, LastVersion};
use crate::replace::{Fault, Millis, Step, Waits, World, basis};

/// For how long the results of the checks before the first write are used.
const FRESH: Duration = Duration::from_secs(5);

/// What is kept between two decisions. After a crash the decision does without it.
#[derive(Default)]
pub(super) struct RunMemory {
    /// The results of the checks, and when the first of them was read.
    checks: CheckResults,
    checked_at: Option<Instant>,
    pub(super) dependents: Option<Dependents>,
    /// What was read before a wait for others, or before a conflict: then only the set is read again.
    pub(super) polled: Option<Sight>,
    pub(super) denied: Option<Fault>,
    /// The uid of the namespace, read in this round.
    pub(super) namespace: Option<String>,
    /// The old set as it was when it was deleted, read in this round.
    pub(super) last_version: Option<LastVersion>,
    pub(super) namespace_ends: bool,
    retained_at: Option<i64>,
    unreferenced_since: Option<Millis>,
    waits: Option<(ReplacementReason, Millis)>,
    pub(super) failures: u32,
    pub(super) conflicts: u32,
    /// When the old set was let go.
    pub(super) let_go: Option<Instant>,
    pub(super) created: bool,
    /// True iff the set was let go and is yet to be created.
    pub(super) is_absent: bool,
    /// Why the set of somebody else was left as it is.
    pub(super) foreign: Option<Fault>,
    /// The uid of the new set whose update strategy was restored.
    pub(super) verified: Option<String>,
    /// The uid of the set whose managed fields were restored.
    pub(super) managers_restored: Option<String>,
    /// True iff a step that writes was executed.
    pub(super) begun: bool,
}

#[derive(Clone, Default)]
struct CheckResults {
    checked: Option<String>,
    guarded: Option<bool>,
    quotas: Option<Vec<CountQuota>>,
    dry_runs: Option<DryRuns>,
}

impl RunMemory {
    /// That of a replacement that has begun, or not, and whose set may be absent.
    pub(super) fn new(begun: bool, is_absent: bool) -> Self {
        Self {
            begun,
            is_absent,
            ..Self::default()
        }
    }

    /// The results of checks do not count for long.
    pub(super) fn forget_old_checks(&mut self) {
        if self.checked_at.is_some_and(|at| at.elapsed() >= FRESH) {
            (self.checks, self.checked_at) = (CheckResults::default(), None);
        }
    }

    /// Shows the decision what is known from before.
    pub(super) fn show(&self, world: &mut World<'_>) {
        let CheckResults {
            checked,
            guarded,
            quotas,
            dry_runs,
        } = self.checks.clone();
        (world.checked, world.guarded, world.quotas, world.dry_runs) = (checked, guarded, quotas, dry_runs);
        world.dependents.clone_from(&self.dependents);
        world.denied.clone_from(&self.denied);
        world.namespace.clone_from(&self.namespace);
        world.last_version.clone_from(&self.last_version);
        world.namespace_ends = self.namespace_ends;
        world.retained_at = self.retained_at;
        world.verified.clone_from(&self.verified);
        world.managers_restored.clone_from(&self.managers_restored);
        world.unreferenced_since = self.unreferenced_since;
        world.waits_since = self.waits.map(|(_, since)| since);
    }

    /// Keeps what was read, and for how long the step has waited.
    pub(super) fn keep(&mut self, world: &World<'_>, step: &Step) {
        self.checks = CheckResults {
            checked: world.checked.clone(),
            guarded: world.guarded,
            quotas: world.quotas.clone(),
            dry_runs: world.dry_runs.clone(),
        };
        if world.guarded.is_some() {
            self.checked_at.get_or_insert_with(Instant::now);
        }
        self.dependents.clone_from(&world.dependents);
        self.namespace.clone_from(&world.namespace);
        self.last_version.clone_from(&world.last_version);
        let retaining = world.set.as_ref().filter(|set| set.retains());
        self.retained_at = retaining.map(|set| self.retained_at.unwrap_or_else(|| set.generation()));
        match step {
            // Every precondition was checked a moment ago. From now on others may scale the set, and its status may be
            // outdated because of the mark.
            Step::Mark(_) | Step::WriteJournal(_) | Step::DisownReport => {
                self.checks.checked = world.set.as_ref().filter(|set| !set.terminating()).map(basis);
            }
            Step::Wait {
                waits: Waits::Settling, ..
            } => {
                self.unreferenced_since.get_or_insert(world.now);
            }
            Step::Delete { .. } => self.unreferenced_since = None,
            _ => {}
        }
        if !step.keeps_dependents() {
            self.dependents = None;
        }
        self.waits = match step {
            Step::Wait {
                waits: Waits::Others(fault) | Waits::Stalled(fault),
                ..
            } => {
                let same = self.waits.filter(|(reason, _)| *reason == fault.reason);
                Some(same.unwrap_or((fault.reason, world.now)))
            }
            _ => None,
        };
    }
}
