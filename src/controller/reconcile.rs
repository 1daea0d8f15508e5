//! One reconcile of one StatefulSet: read, decide, write, report. It does what the [`Triage`] and the [`Machine`] return.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::ResourceExt;
use tokio::time::Instant;

use super::context::Context;
use super::error::ReconcileError;
use super::facts::FactFinder;
use super::memory::RolloutMemory;
use super::namespaces::Namespace;
use super::set_kind::SetKind;
use super::settled::Basis;
use super::slim_set::SlimSet;
use crate::api::Seconds;
use crate::gate::idle::{LIST_RECHECK, NAMESAKE_RECHECK};
use crate::gate::{Idle, SetView};
use crate::rollout::machine::{
    AFTER_CONFLICT, Machine, PlanFacts, ReconcileEnd, ReportFailure, RolloutTask, Settled, Triage, TriageTask,
};
use crate::rollout::{EventNotice, Reason};

/// When to reconcile the set again; without a time, only when something changes.
type Next = Option<Duration>;

/// Reconciles a set, and returns when to reconcile it again.
pub(super) async fn reconcile(set: Arc<SlimSet>, context: Arc<Context>) -> Result<Next, ReconcileError> {
    let begun = Instant::now();
    let uid = set.uid().unwrap_or_default();
    let result = match context.reconciles(&set) {
        // Nothing else writes to a set that is being replaced, or to its ClaimRollout.
        None => {
            context.places.give_back(&uid, (context.clock)());
            Ok(Reconciled::Until(None))
        }
        Some(_reconciles) => {
            let asked = context.retry_if_asked(&set);
            let reconciled = reconcile_set(&set, &context).await;
            if let Some(report) = asked {
                context.answer_retry(&set, &report).await;
            }
            reconciled
        }
    };
    context.metrics.reconciled(begun.elapsed().as_secs_f64());
    if result.is_ok() {
        context.remembered(&set, RolloutMemory::succeeded);
    }
    let result = result.map(|reconciled| match reconciled {
        // It is not known yet which places the set has.
        Reconciled::Unread => Some(Duration::from_secs(LIST_RECHECK)),
        Reconciled::Until(next) => {
            context.places.note(&uid, (context.clock)());
            next
        }
    });
    context.forget_if_deleted(&set);
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
pub(super) fn after_failure(set: &SlimSet, error: &ReconcileError, context: &Context) -> Duration {
    context.metrics.failure();
    context.places.skip(&set.uid().unwrap_or_default(), (context.clock)());
    let requested = match error {
        ReconcileError::Write { retry_after, .. } => retry_after.unwrap_or(0),
        _ => 0,
    };
    let pause = context.remember(set, |memory| memory.failed(requested));
    tracing::warn!(namespace = set.namespace(), set = set.name_any(), %error, pause, "reconcile failed, requeueing");
    context.forget_if_deleted(set);
    Duration::from_secs(pause)
}

async fn reconcile_set(set: &SlimSet, context: &Arc<Context>) -> Result<Reconciled, ReconcileError> {
    let mut facts = FactFinder::new(set, context);
    let mut triage = Triage::default();
    let (halted, reads_lists) = loop {
        match triage.next() {
            TriageTask::Find(fact) => facts.find(fact, &mut triage).await?,
            TriageTask::LeaveToNamesake { only_event } => {
                context.close(set);
                if only_event {
                    emit_namesake(set, context).await;
                    return Ok(Reconciled::Until(after(Some(NAMESAKE_RECHECK))));
                }
                break (Some(Idle::Namesake), false);
            }
            TriageTask::AwaitLists => return Ok(Reconciled::Unread),
            TriageTask::Rest => return Ok(Reconciled::Until(context.rest_or_replace(set, facts.rests()))),
            TriageTask::Settle => {
                let rests = context.settle(set);
                return Ok(Reconciled::Until(context.rest_or_replace(set, Some(rests))));
            }
            TriageTask::Decide { halted, reads_lists } => break (halted, reads_lists),
        }
    };
    let opened = if reads_lists { Some(facts.opened()?) } else { None };
    let seen = (facts.view()?, opened.as_deref(), halted.as_ref());
    decide_and_execute(set, context, seen).await.map(Reconciled::Until)
}

/// Reports with an Event that the PVCs of the set are left alone because of its namesake, which has the ClaimRollout.
async fn emit_namesake(set: &SlimSet, context: &Context) {
    let notice = EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: None,
        reason: Reason::ClaimRolloutStalled,
        message: Idle::Namesake.to_string(),
    };
    context.emit(set, &notice).await;
}

/// What was read for a reconcile: the set, the watch on its PVCs and Pods, and why nothing is rolled out.
type Seen<'s> = (&'s SetView, Option<&'s Namespace>, Option<&'s Idle>);

/// Decides and executes, in the order of the [`Machine`].
async fn decide_and_execute(set: &SlimSet, context: &Arc<Context>, seen: Seen<'_>) -> Result<Next, ReconcileError> {
    let mut machine = Machine::default();
    let mut snapshot = context.observe(set, seen)?;
    let mut plan = context.plan(&mut snapshot);
    machine.decided(PlanFacts::of(&plan));
    loop {
        match context.task(set, &mut machine) {
            RolloutTask::Decide => snapshot = context.observe(set, seen)?,
            RolloutTask::ReadQuotas => {
                snapshot.quotas = context.read_quotas(set, &plan.progress.update_revision).await;
            }
            RolloutTask::Ask => {
                if let Some(question) = plan.asks.take() {
                    context.answer(set, &question, &mut snapshot).await;
                }
            }
            RolloutTask::Write(place) => {
                let outcome = context.execute(set, &plan.actions[place]).await;
                machine.answered(outcome);
                continue;
            }
            RolloutTask::ReadEvents => {
                let is_new = context.read_events(set, &plan.progress).await;
                machine.read_events(is_new);
                continue;
            }
            RolloutTask::Report => {
                let written = context.report(set, seen.0, &plan).await.map_err(ReportFailure::from);
                context.remember(set, |memory| machine.reported(memory, written));
                continue;
            }
            RolloutTask::End(end) => return context.ended(set, plan.settled, end),
        }
        plan = context.plan(&mut snapshot);
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

impl Context {
    /// What the reconcile has to do next.
    fn task(&self, set: &SlimSet, machine: &mut Machine<ReconcileError>) -> RolloutTask<ReconcileError> {
        let (now, stopping) = ((self.clock)(), self.stopping.load(Ordering::Acquire));
        self.remember(set, |memory| machine.next(memory, now, stopping))
    }

    /// When to reconcile the set again after a reconcile with this end.
    fn ended(
        self: &Arc<Self>,
        set: &SlimSet,
        is_settled: bool,
        end: ReconcileEnd<ReconcileError>,
    ) -> Result<Next, ReconcileError> {
        Ok(after(match end {
            ReconcileEnd::Failed(error) => return Err(error),
            ReconcileEnd::Complete => Some(self.end(set)),
            ReconcileEnd::Overtaken => Some(AFTER_CONFLICT),
            ReconcileEnd::Unfinished => Some(0),
            ReconcileEnd::Stopped => None,
            ReconcileEnd::Rests { settles, requeue } => {
                let rests = settles.then(|| self.settle(set));
                let due = if is_settled { self.replace_if_due(set) } else { None };
                requeue.into_iter().chain(rests).chain(due).min()
            }
        }))
    }

    /// True iff the set is one of OpenKruise that is to be rolled out, and one of Kubernetes has its name. Their Pods,
    /// PVCs and ClaimRollouts would have the same names.
    pub(super) fn has_namesake(&self, set: &SlimSet) -> bool {
        set.kind == SetKind::OpenKruise && set.is_managed() && self.namesake(set).is_some()
    }

    /// The watch on the PVCs and Pods of the set.
    pub(super) fn opened(&self, set: &SlimSet, view: &SetView) -> Arc<Namespace> {
        let name = [&*view.namespace, &*view.name, &*view.uid];
        self.namespaces.open(name, set.template_names())
    }

    /// For how many seconds no reconcile is needed, or none until the set changes. Either the set is not managed,
    /// because it has no staged change and no ClaimRollout, or it is settled.
    pub(super) fn has_nothing_to_do(&self, set: &SlimSet) -> Option<Option<Seconds>> {
        let report = self.report_of(set);
        if report.is_none() && !set.is_managed() {
            self.forget(set);
            return Some(None);
        }
        let now = (self.clock)();
        let basis = || Basis::of(set, report.as_deref());
        let rests = self.remembered(set, |memory| memory.rests(set.resource_version().as_ref(), basis, now));
        rests.flatten().map(Some)
    }

    /// The rollout is complete. Returns for how many seconds the watch may still show the set as it was before the
    /// write.
    fn end(&self, set: &SlimSet) -> Seconds {
        let (version, now) = (set.resource_version().unwrap_or_default(), (self.clock)());
        self.remember(set, |memory| memory.end(version, now))
    }

    /// The requeue of a settled set, which may be due for its replacement.
    fn rest_or_replace(self: &Arc<Self>, set: &SlimSet, rests: Option<Seconds>) -> Next {
        self.remembered(set, RolloutMemory::retry_is_reported);
        after(self.replace_if_due(set).into_iter().chain(rests).min())
    }

    /// Nothing is left to do for the set. Its PVCs are not watched until it changes, or until these seconds have
    /// passed.
    fn settle(&self, set: &SlimSet) -> Seconds {
        let (now, report) = ((self.clock)(), self.report_of(set));
        let basis = Basis::of(set, report.as_deref());
        let settled = Settled::since(now, &set.namespace().unwrap_or_default(), basis);
        self.remember(set, |memory| memory.settle(settled));
        self.close(set);
        settled.rests(now, basis).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "left_alone_tests.rs"]
mod left_alone_tests;

#[cfg(test)]
#[path = "overtaken_tests.rs"]
mod overtaken_tests;
