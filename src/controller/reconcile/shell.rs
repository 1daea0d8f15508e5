//! One reconcile of one StatefulSet: read, decide, write, report. It does what the [`Triage`] and the [`Machine`] return.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use tokio::time::Instant;

use super::context::Context;
use super::facts::FactFinder;
use super::retry::{answer_retry, retry_if_asked};
use crate::api::Seconds;
use crate::controller::calls::caller::Caller;
use crate::controller::calls::error::ReconcileError;
use crate::controller::memory::memories::RolloutMemory;
use crate::controller::memory::settled::Basis;
use crate::controller::objects::set::SlimSet;
use crate::controller::observe::observer::{Observer, Seen};
use crate::controller::observe::questions::answer;
use crate::controller::report::events;
use crate::controller::write::actions::{execute, write_of};
use crate::gate::Idle;
use crate::gate::idle::{LIST_RECHECK, NAMESAKE_RECHECK};
use crate::rollout::machine::{
    AFTER_CONFLICT, Machine, PlanFacts, ReconcileEnd, ReportFailure, RolloutTask, Settled, Triage, TriageTask,
};
use crate::rollout::{EventNotice, Reason};

/// When to reconcile the set again; without a time, only when something changes.
type Next = Option<Duration>;

/// Reconciles a set, and returns when to reconcile it again.
pub(crate) async fn reconcile(set: Arc<SlimSet>, context: Arc<Context>) -> Result<Next, ReconcileError> {
    let begun = Instant::now();
    let uid = set.uid().unwrap_or_default();
    let Observer {
        memories,
        places,
        clock,
        ..
    } = &context.observer;
    let result = match context.replacements.reconciles(&set) {
        // Nothing else writes to a set that is being replaced, or to its ClaimRollout.
        None => {
            places.give_back(&uid, clock());
            Ok(Reconciled::Until(None))
        }
        Some(_reconciles) => {
            let report = context.observer.report_of(&set);
            let asked = retry_if_asked(&set, report, memories, &context.replacements);
            let reconciled = reconcile_set(&set, &context).await;
            if let Some(report) = asked {
                answer_retry(&set, &report, memories, &context.writer.caller).await;
            }
            reconciled
        }
    };
    let metrics = &context.writer.caller.metrics;
    metrics.reconciled(begun.elapsed().as_secs_f64());
    if result.is_ok() {
        memories.remembered(&set, RolloutMemory::succeeded);
    }
    let result = result.map(|reconciled| match reconciled {
        // It is not known yet which places the set has.
        Reconciled::Unread => Some(Duration::from_secs(LIST_RECHECK)),
        Reconciled::Until(next) => {
            places.note(&uid, clock());
            next
        }
    });
    context.observer.forget_if_deleted(&set);
    result
}

/// How a reconcile ended.
enum Reconciled {
    /// The lists of PVCs and Pods are not complete. The set is requeued when they are, and to report it if they fail.
    Unread,
    /// When to reconcile the set again.
    Until(Next),
}

/// The requeue delay after a failure: a second, doubling up to a minute, or as the API server asks. It is not longer
/// because nothing requeues the set when the API server responds again: the watches continue where they were.
pub(crate) fn after_failure(set: &SlimSet, error: &ReconcileError, context: &Context) -> Duration {
    let observer = &context.observer;
    context.writer.caller.metrics.failure();
    observer.places.skip(&set.uid().unwrap_or_default(), (observer.clock)());
    let requested = match error {
        ReconcileError::Write { retry_after, .. } => retry_after.unwrap_or(0),
        _ => 0,
    };
    let pause = observer.memories.remember(set, |memory| memory.failed(requested));
    tracing::warn!(namespace = set.namespace(), set = set.name_any(), %error, pause, "reconcile failed, requeueing");
    observer.forget_if_deleted(set);
    Duration::from_secs(pause)
}

async fn reconcile_set(set: &SlimSet, context: &Context) -> Result<Reconciled, ReconcileError> {
    let mut facts = FactFinder::new(set, &context.observer, &context.admission);
    let mut triage = Triage::default();
    let (halted, reads_lists) = loop {
        match triage.next() {
            TriageTask::Find(fact) => facts.find(fact, &mut triage).await?,
            TriageTask::LeaveToNamesake { only_event } => {
                context.observer.close(set);
                if only_event {
                    emit_namesake(set, &context.writer.caller).await;
                    return Ok(Reconciled::Until(after(Some(NAMESAKE_RECHECK))));
                }
                break (Some(Idle::Namesake), false);
            }
            TriageTask::AwaitLists => return Ok(Reconciled::Unread),
            TriageTask::Rest => return Ok(Reconciled::Until(rest_or_replace(set, context, facts.rests()))),
            TriageTask::Settle => {
                let rests = settle(set, &context.observer);
                return Ok(Reconciled::Until(rest_or_replace(set, context, Some(rests))));
            }
            TriageTask::Decide { halted, reads_lists } => break (halted, reads_lists),
        }
    };
    let opened = if reads_lists { Some(facts.opened()?) } else { None };
    let seen = Seen {
        view: facts.view()?,
        opened: opened.as_deref(),
        halted: halted.as_ref(),
    };
    decide_and_execute(set, context, seen).await.map(Reconciled::Until)
}

/// Reports with an Event that the PVCs of the set are left alone because of its namesake, which has the ClaimRollout.
async fn emit_namesake(set: &SlimSet, caller: &Caller) {
    let (uid, message) = (set.uid().unwrap_or_default(), Idle::Namesake.to_string());
    let notice = EventNotice::of_set(uid, Reason::ClaimRolloutStalled, message);
    events::emit(caller, set, &notice).await;
}

/// Decides and executes, in the order of the [`Machine`].
async fn decide_and_execute(set: &SlimSet, context: &Context, seen: Seen<'_>) -> Result<Next, ReconcileError> {
    let Context {
        observer,
        reader,
        writer,
        reporter,
        ..
    } = context;
    let mut machine = Machine::default();
    let mut snapshot = observer.observe(set, seen)?;
    let mut plan = observer.plan(&mut snapshot);
    machine.decided(PlanFacts::of(&plan));
    loop {
        match next_task(set, context, &mut machine) {
            RolloutTask::Decide => snapshot = observer.observe(set, seen)?,
            RolloutTask::ReadQuotas => {
                snapshot.quotas = reader.read_quotas(set, &plan.progress.update_revision).await;
            }
            RolloutTask::Ask => {
                if let Some(question) = plan.asks.take() {
                    answer(&reader.caller.client, observer.max_in_motion, &question, &mut snapshot).await;
                }
            }
            RolloutTask::Write(place) => {
                let action = &plan.actions[place];
                tracing::debug!(task = write_of(set, action), "write");
                let outcome = execute(writer, set, action).await;
                machine.answered(outcome);
                continue;
            }
            RolloutTask::ReadEvents => {
                let report = observer.report_of(set);
                let is_new = reader.read_events(set, report.as_deref(), &plan.progress).await;
                machine.read_events(is_new);
                continue;
            }
            RolloutTask::Report => {
                let last = observer.report_of(set);
                let written = reporter.report(set, seen.view, &plan, last).await;
                let written = written.map_err(ReportFailure::from);
                observer
                    .memories
                    .remember(set, |memory| machine.reported(memory, written));
                continue;
            }
            RolloutTask::End(end) => return ended(set, context, machine.settles(), end),
        }
        plan = observer.plan(&mut snapshot);
        machine.decided(PlanFacts::of(&plan));
    }
}

/// A requeue after this many seconds, or only on a change.
fn after(seconds: Option<Seconds>) -> Next {
    seconds.map(Duration::from_secs)
}

impl From<ReconcileError> for ReportFailure<ReconcileError> {
    fn from(error: ReconcileError) -> Self {
        Self {
            is_of_history: error.is_of_history(),
            error,
        }
    }
}

/// What the reconcile has to do next.
fn next_task(set: &SlimSet, context: &Context, machine: &mut Machine<ReconcileError>) -> RolloutTask<ReconcileError> {
    let (now, stopping) = ((context.observer.clock)(), context.is_stopping());
    let memories = &context.observer.memories;
    memories.remember(set, |memory| machine.next(memory, now, stopping))
}

/// When to reconcile the set again after a reconcile with this end.
fn ended(
    set: &SlimSet,
    context: &Context,
    is_settled: bool,
    end: ReconcileEnd<ReconcileError>,
) -> Result<Next, ReconcileError> {
    Ok(after(match end {
        ReconcileEnd::Failed(error) => return Err(error),
        ReconcileEnd::Complete => Some(complete(set, &context.observer)),
        ReconcileEnd::Overtaken => Some(AFTER_CONFLICT),
        ReconcileEnd::Unfinished => Some(0),
        ReconcileEnd::Stopped => None,
        ReconcileEnd::Rests { settles, requeue } => {
            let rests = settles.then(|| settle(set, &context.observer));
            let due = if is_settled {
                context.replacements.replace_if_due(set)
            } else {
                None
            };
            requeue.into_iter().chain(rests).chain(due).min()
        }
    }))
}

/// The rollout is complete. Returns for how many seconds the watch may still show the set as it was before the write.
fn complete(set: &SlimSet, observer: &Observer) -> Seconds {
    let (version, now) = (set.resource_version().unwrap_or_default(), (observer.clock)());
    observer.memories.remember(set, |memory| memory.end(version, now))
}

/// The requeue of a settled set, which may be due for its replacement.
fn rest_or_replace(set: &SlimSet, context: &Context, rests: Option<Seconds>) -> Next {
    let memories = &context.observer.memories;
    memories.remembered(set, RolloutMemory::retry_is_reported);
    after(context.replacements.replace_if_due(set).into_iter().chain(rests).min())
}

/// Nothing is left to do for the set. Its PVCs are not watched until it changes, or until these seconds have passed.
fn settle(set: &SlimSet, observer: &Observer) -> Seconds {
    let (now, report) = ((observer.clock)(), observer.report_of(set));
    let basis = Basis::of(set, report.as_deref());
    let settled = Settled::since(now, &set.namespace().unwrap_or_default(), basis);
    observer.memories.remember(set, |memory| memory.settle(settled));
    observer.close(set);
    settled.rests(now, basis).unwrap_or_default()
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "left_alone_tests.rs"]
mod left_alone_tests;
