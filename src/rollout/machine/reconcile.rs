//! One reconcile, from the first decision to its end, as a value: what is decided, asked, written and reported, in which
//! order; and when the next reconcile comes.
//!
//! [`Machine::next`] returns what to do. The caller does it, and hands over what came of it: [`decided`], [`answered`],
//! [`reported`] or [`read_events`].
//!
//! [`decided`]: Machine::decided
//! [`answered`]: Machine::answered
//! [`reported`]: Machine::reported
//! [`read_events`]: Machine::read_events

use super::answers::RoundOutcome;
use super::claim_events;
use super::claim_events::PATIENCE;
use super::kinds::Kinds;
use super::memory::SetMemory;
use crate::api::Seconds;
use crate::rollout::{Action, EventNotice, Plan, Reason, SetStaged};
use crate::templates::Phase;

/// How many rounds a reconcile may take before other sets have their turn.
pub const MAX_ROUNDS: u8 = 32;

/// The most questions of one decision: an eviction, the VolumeSnapshots of each PVC of a replica, and its Pods and PVCs.
const MOST_QUESTIONS: u8 = 64;

/// The requeue delay after a conflict. The watch usually is faster.
pub const AFTER_CONFLICT: Seconds = 1;

/// For how many seconds intermediate steps are collected before they are reported.
pub const COLLECT: Seconds = 2;

/// The seconds between two writes of a target to the history while another object has the name.
pub const HISTORY_PAUSE: Seconds = 30;

/// A reconcile in progress. `E` is the error of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Machine<E> {
    stage: MachineStage<E>,
    facts: PlanFacts,
    rounds: u8,
    questions: u8,
    /// A decision was made.
    has_begun: bool,
    outcome: RoundOutcome,
    failed: Option<E>,
}

/// What a reconcile needs to know about a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlanFacts {
    /// The number of actions.
    pub actions: usize,
    /// The target is new: it is reported before the first PVC is written.
    pub begins: bool,
    /// One of the writes completes the rollout. The reconcile after that write reports the completion.
    pub ends: bool,
    /// See [`Plan::settled`].
    pub settled: bool,
    /// See [`Plan::asks_quotas`].
    pub asks_quotas: bool,
    /// See [`Plan::asks`].
    pub asks: bool,
    /// Events of slow PVCs may have to be read although no object changes.
    pub inquires: bool,
    /// See [`Plan::requeue_after`].
    pub requeue_after: Option<Seconds>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MachineStage<E> {
    Decide,
    Quotas,
    Question,
    Report(Reporting),
    Write(usize),
    Events,
    End(ReconcileEnd<E>),
}

/// Why the progress is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reporting {
    /// The target is new. No write depends on this report.
    Target,
    /// A write failed.
    Failure,
    /// A write has been overtaken for a while.
    Overtaken,
    /// Nothing was left to write.
    Progress,
}

/// What a caller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutTask<E> {
    /// Decide from what is known now.
    Decide,
    /// Read the quotas, and decide again from the same and the quotas.
    ReadQuotas,
    /// Answer the question of the plan, and decide again from the same and the answer.
    Ask,
    /// Report the progress of the plan.
    Report,
    /// Execute this action of the plan.
    Write(usize),
    /// Read the Events of a slow PVC, if they are due.
    ReadEvents,
    /// The reconcile has ended.
    End(ReconcileEnd<E>),
}

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReconcileEnd<E> {
    /// It failed, and is repeated after a pause.
    Failed(E),
    /// The rollout is complete: see [`SetMemory::end`].
    Complete,
    /// An object had changed. The next reconcile comes after [`AFTER_CONFLICT`].
    Overtaken,
    /// It took too many rounds, and goes on after the other sets.
    Unfinished,
    /// The process stops.
    Stopped,
    /// Nothing was left to write, and the progress is reported.
    Rests {
        /// Nothing is left to do: see [`SetMemory::settle`].
        settles: bool,
        /// The seconds until the next reconcile, even if nothing changes.
        requeue: Option<Seconds>,
    },
}

/// Whether a report was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportWrite {
    /// It was up to date.
    Nothing,
    /// It was written.
    Something,
    /// It is to be written later.
    Later,
}

/// Why a report failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportFailure<E> {
    /// The error.
    pub error: E,
    /// Only the history could not be written: the report was.
    pub is_of_history: bool,
}

impl PlanFacts {
    /// The facts about this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            actions: plan.actions.len(),
            begins: plan.actions.iter().any(is_beginning),
            ends: plan.actions.iter().any(is_ending),
            settled: plan.settled,
            asks_quotas: plan.asks_quotas,
            asks: plan.asks.is_some(),
            inquires: claim_events::is_needed(&plan.progress),
            requeue_after: plan.requeue_after,
        }
    }

    /// The seconds until the next reconcile, where nothing was left to write.
    fn requeue(&self, written: ReportWrite, rests: Option<Seconds>) -> Option<Seconds> {
        let report = (written == ReportWrite::Later).then_some(COLLECT);
        let inquiry = self.inquires.then_some(PATIENCE);
        let times = self.requeue_after.into_iter().chain(inquiry);
        times.chain(report).chain(rests).min()
    }
}

fn is_beginning(action: &Action) -> bool {
    matches!(
        action,
        Action::Event(EventNotice {
            reason: Reason::ClaimsStaged,
            ..
        })
    )
}

fn is_ending(action: &Action) -> bool {
    matches!(action, Action::SetStaged(SetStaged { change: Some(change), .. }) if change.phase == Phase::Complete)
}

impl<E> Default for Machine<E> {
    fn default() -> Self {
        Self {
            stage: MachineStage::Decide,
            facts: PlanFacts::default(),
            rounds: 0,
            questions: 0,
            has_begun: false,
            outcome: RoundOutcome::Nothing,
            failed: None,
        }
    }
}

impl<E> Machine<E> {
    /// True iff nothing is left to do according to the last decision.
    #[must_use]
    pub const fn settles(&self) -> bool {
        self.facts.settled
    }

    /// The same without the numbers of rounds and questions. Until one of them reaches its limit, nothing depends on them.
    #[cfg(any(test, feature = "sim"))]
    #[must_use]
    pub fn uncounted(self) -> Self {
        Self {
            rounds: 0,
            questions: 0,
            ..self
        }
    }

    /// What to do next. No write begins while the process stops.
    pub fn next<K: Kinds>(&mut self, memory: &SetMemory<K>, now: Seconds, stopping: bool) -> RolloutTask<E> {
        if matches!(self.stage, MachineStage::Write(_)) && stopping {
            self.outcome = RoundOutcome::Overtaken;
            self.end_round(memory, now);
        }
        if matches!(self.stage, MachineStage::Write(place) if place >= self.facts.actions) {
            self.end_round(memory, now);
        }
        match self.stage {
            MachineStage::Decide if self.rounds > 0 && stopping => RolloutTask::End(ReconcileEnd::Stopped),
            MachineStage::Decide if self.rounds >= MAX_ROUNDS => RolloutTask::End(ReconcileEnd::Unfinished),
            MachineStage::Decide => RolloutTask::Decide,
            MachineStage::Quotas => RolloutTask::ReadQuotas,
            MachineStage::Question => RolloutTask::Ask,
            MachineStage::Report(_) => RolloutTask::Report,
            MachineStage::Write(place) => RolloutTask::Write(place),
            MachineStage::Events => RolloutTask::ReadEvents,
            MachineStage::End(_) => self.end(),
        }
    }

    /// The end is handed out once.
    fn end(&mut self) -> RolloutTask<E> {
        match std::mem::replace(&mut self.stage, MachineStage::End(ReconcileEnd::Stopped)) {
            MachineStage::End(end) => RolloutTask::End(end),
            _ => RolloutTask::End(ReconcileEnd::Stopped),
        }
    }

    /// All writes of the round were answered.
    fn end_round<K: Kinds>(&mut self, memory: &SetMemory<K>, now: Seconds) {
        self.stage = match self.outcome {
            _ if self.failed.is_some() => MachineStage::Report(Reporting::Failure),
            RoundOutcome::DecideAgain => self.next_round(),
            RoundOutcome::Nothing if self.facts.ends => MachineStage::End(ReconcileEnd::Complete),
            RoundOutcome::Nothing => MachineStage::Events,
            RoundOutcome::Overtaken if memory.is_late(now) => MachineStage::Report(Reporting::Overtaken),
            RoundOutcome::Overtaken => MachineStage::End(ReconcileEnd::Overtaken),
        };
    }

    const fn next_round(&mut self) -> MachineStage<E> {
        self.rounds += 1;
        self.questions = 0;
        MachineStage::Decide
    }

    /// Hands over what was decided.
    pub fn decided(&mut self, facts: PlanFacts) {
        let is_first = matches!(self.stage, MachineStage::Decide);
        self.facts = facts;
        self.outcome = RoundOutcome::Nothing;
        self.stage = if facts.asks_quotas && is_first {
            MachineStage::Quotas
        } else if facts.asks && self.questions < MOST_QUESTIONS {
            self.questions += 1;
            MachineStage::Question
        } else if !std::mem::replace(&mut self.has_begun, true) && facts.begins {
            MachineStage::Report(Reporting::Target)
        } else {
            MachineStage::Write(0)
        };
    }

    /// Hands over the outcome of an action. A failure does not prevent the next write; the first failure counts.
    pub fn answered(&mut self, outcome: Result<RoundOutcome, E>) {
        match outcome {
            Ok(outcome) => self.outcome = self.outcome.max(outcome),
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
        if let MachineStage::Write(place) = &mut self.stage {
            *place += 1;
        }
    }

    /// Hands over whether Events that were read contain something new.
    pub fn read_events(&mut self, is_new: bool) {
        self.stage = if is_new {
            self.next_round()
        } else {
            MachineStage::Report(Reporting::Progress)
        };
    }

    /// Hands over whether the progress was reported. A set is not settled before its report is written.
    pub fn reported<K: Kinds>(&mut self, memory: &mut SetMemory<K>, written: Result<ReportWrite, ReportFailure<E>>) {
        let MachineStage::Report(why) = self.stage else {
            return;
        };
        let is_written = match &written {
            Ok(written) => *written != ReportWrite::Later || why != Reporting::Progress,
            Err(failure) => failure.is_of_history && why == Reporting::Progress,
        };
        if is_written && matches!(why, Reporting::Progress | Reporting::Failure) {
            memory.retry_is_reported();
        }
        self.stage = match (why, written) {
            (Reporting::Target, _) => MachineStage::Write(0),
            (_, Err(failure)) => MachineStage::End(ReconcileEnd::Failed(failure.error)),
            (Reporting::Progress, Ok(written)) => MachineStage::End(self.rests(memory, written)),
            (Reporting::Failure | Reporting::Overtaken, Ok(_)) => {
                let failed = self.failed.take().map(ReconcileEnd::Failed);
                MachineStage::End(failed.unwrap_or(ReconcileEnd::Overtaken))
            }
        };
    }

    /// The end of a reconcile with nothing left to do, except perhaps to write the target to the history.
    fn rests<K: Kinds>(&self, memory: &SetMemory<K>, written: ReportWrite) -> ReconcileEnd<E> {
        let is_reported = written != ReportWrite::Later;
        let is_unkept = memory.unkept > 0;
        ReconcileEnd::Rests {
            settles: is_reported && !is_unkept && self.facts.settled,
            requeue: self
                .facts
                .requeue(written, (is_reported && is_unkept).then_some(HISTORY_PAUSE)),
        }
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
