//! What is kept between two decisions, and what an answer to a step means. Time is an input.

use super::check::basis;
use super::step::{Fault, Step, Waits};
use super::task::Reply;
use super::world::{CheckResults, Dependents, LastVersion, World};
use super::{Journal, LiveSet, Millis};
use crate::api::{ApiOutcome, ReplacementReason as Reason};

/// For how long the results of the checks before the first write are used.
pub(super) const FRESH: Millis = 5_000;

/// The reason of the API server for 422: a test of the patch does not hold, or the object is denied as invalid.
const INVALID: &str = "Invalid";

/// What is kept between two decisions. After a crash the decision does without it.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The results of the checks, and when the first of them was read.
    checks: CheckResults,
    pub(super) checked_at: Option<Millis>,
    dependents: Option<Dependents>,
    denied: Option<Fault>,
    /// The uid of the namespace, read since the last CREATE that was not done.
    namespace: Option<String>,
    /// The old set as it was when it was deleted.
    pub(super) last_version: Option<LastVersion>,
    pub(super) retained_at: Option<i64>,
    pub(super) unreferenced_since: Option<Millis>,
    pub(super) waits: Option<(Reason, Millis)>,
    /// The uid of the new set whose update strategy was restored.
    verified: Option<String>,
    /// The uid of the set whose managed fields were restored.
    managers_restored: Option<String>,
    /// The write that was answered as if something had changed, and the versions that it was decided for.
    pub(super) overtaken: Option<(String, Versions)>,
}

/// The versions of the objects that a write was decided for.
pub type Versions = [Option<String>; 3];

/// What follows from an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Go on.
    Done,
    /// Read again, and decide again at once.
    ReadAgain,
    /// Read again after a pause. The fault is to be reported at once.
    Stalled(Fault),
    /// Decide again: the set can be left as it was.
    TakenBack,
    /// Read again after a pause.
    TryAgain,
}

impl Memory {
    /// Before everything is read again.
    pub fn forget_reads(&mut self) {
        (self.namespace, self.last_version) = (None, None);
    }

    /// The dependents are to be read again.
    pub fn forget_dependents(&mut self) {
        self.dependents = None;
    }

    /// Shows the decision what is known from before.
    pub fn show(&mut self, world: &mut World<'_>) {
        let now = world.now;
        // The results of checks do not count for long, and not at all if the clock was set back.
        let is_fresh = |at: Millis| (at..at.saturating_add(FRESH)).contains(&now);
        if self.checked_at.is_some_and(|at| !is_fresh(at)) {
            (self.checks, self.checked_at) = (CheckResults::default(), None);
        }
        // What has waited since a time that has not come yet would wait until then, and nobody would know.
        self.unreferenced_since = self.unreferenced_since.map(|since| since.min(now));
        self.waits = self.waits.map(|(reason, since)| (reason, since.min(now)));
        world.checks.clone_from(&self.checks);
        world.dependents.clone_from(&self.dependents);
        world.denied.clone_from(&self.denied);
        world.namespace.clone_from(&self.namespace);
        world.last_version.clone_from(&self.last_version);
        world.retained_at = self.retained_at;
        world.verified.clone_from(&self.verified);
        world.managers_restored.clone_from(&self.managers_restored);
        world.unreferenced_since = self.unreferenced_since;
        world.waits_since = self.waits.map(|(_, since)| since);
    }

    /// Keeps what was read, and for how long the step has waited.
    pub fn keep(&mut self, world: &World<'_>, step: &Step) {
        self.checks.clone_from(&world.checks);
        if world.checks.guarded.is_some() {
            self.checked_at.get_or_insert(world.now);
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

    /// Notes the answer to a step that was decided for these objects and versions. `name` is the name of the step.
    ///
    /// Admission webhooks deny with any code, and proxies answer in place of the API server. So a 404 or 409 counts as a
    /// change of the object only once for the same versions.
    pub fn answered(
        &mut self,
        (set, journal): (Option<&LiveSet>, Option<&Journal>),
        versions: Versions,
        (step, name): (&Step, &str),
        answer: &ApiOutcome<Reply>,
    ) -> Consequence {
        let is_overtaken = is_overtaken(step, answer);
        if !step.keeps_dependents() || !is_overtaken && !matches!(answer, ApiOutcome::Done(_)) {
            self.dependents = None;
        }
        let overtaken = self.overtaken.take();
        let message = match answer {
            ApiOutcome::Done(_) => {
                match step {
                    Step::RestoreStrategy { set, .. } => self.verified = Some(set.uid.clone()),
                    Step::RestoreManagers { set, .. } => self.managers_restored = Some(set.uid.clone()),
                    _ => {}
                }
                return Consequence::Done;
            }
            ApiOutcome::Unsure { .. } => return Consequence::TryAgain,
            ApiOutcome::Conflict(message) | ApiOutcome::NotFound(message) => message.clone(),
            ApiOutcome::Denied { cause, message, .. } => format!("{cause}: {message}"),
        };
        let met = is_overtaken.then(|| (name.to_owned(), versions));
        if met.is_some() && overtaken != met {
            self.overtaken = met;
            return Consequence::ReadAgain;
        }
        // The next one pauses, too.
        self.overtaken = met;
        self.denied(set, journal, (step, name), &message)
    }

    /// A denied step is tried again, unless the set can still be left as it is.
    fn denied(
        &mut self,
        set: Option<&LiveSet>,
        journal: Option<&Journal>,
        (step, name): (&Step, &str),
        message: &str,
    ) -> Consequence {
        let fault = Fault::new(Reason::StepDenied, format!("the step {name} was denied: {message}"));
        let is_begun = set.is_none_or(LiveSet::terminating) || journal.is_some_and(Journal::has_released);
        let backs_out = matches!(step, Step::Unmark { .. } | Step::DeleteJournal | Step::OwnReport { .. });
        if is_begun || backs_out {
            return Consequence::Stalled(fault);
        }
        self.denied = Some(fault);
        Consequence::TakenBack
    }
}

/// True iff the object has changed, or somebody denies the write with the same code: 404, 409, 410, or a test of the patch
/// that does not hold.
fn is_overtaken(step: &Step, answer: &ApiOutcome<Reply>) -> bool {
    match answer {
        ApiOutcome::Conflict(_) | ApiOutcome::NotFound(_) => true,
        // Whether the set has changed, or the write itself is denied, only the versions show.
        ApiOutcome::Denied { cause, .. } => cause == INVALID && matches!(step, Step::Unmark { .. }),
        ApiOutcome::Done(_) | ApiOutcome::Unsure { .. } => false,
    }
}

#[cfg(test)]
impl Memory {
    /// Only the time since when nothing has referred to the old set is left.
    pub(super) fn crashed_while_waiting(&self) -> Self {
        Self {
            unreferenced_since: self.unreferenced_since,
            ..Self::default()
        }
    }
}
