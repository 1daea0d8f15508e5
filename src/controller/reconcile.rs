//! One reconcile of one StatefulSet: read, decide, write, report.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::ResourceExt;
use tokio::time::Instant;

use super::context::Context;
use super::error::ReconcileError;
use super::memory::SetMemory;
use super::namespaces::Namespace;
use super::set_kind::SetKind;
use super::settled::{Basis, Settled};
use super::slim_set::SlimSet;
use super::status::{COLLECT, ReportWrite};
use super::volumes::Volumes;
use super::writes::RoundOutcome;
use super::{history, read_events};
use crate::rollout::idle::{LIST_RECHECK, NAMESAKE_RECHECK};
use crate::rollout::{Action, EventNotice, Idle, Plan, Reason, Seconds, SetStaged, SetView, Target};
use crate::templates::Phase;

/// How many rounds a reconcile may take before other sets have their turn.
const MAX_ROUNDS: u32 = 32;

/// The requeue delay after a conflict. The watch usually is faster.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// Seconds after which the watch must have shown a write; otherwise it is broken.
const WATCH_LAG: Seconds = 30;

/// The maximum requeue delay after a failure in seconds, unless the API server asks for more.
const MAX_BACKOFF: u32 = 60;

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
        context.remembered(&set, |memory| memory.failures = 0);
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
    let failures = context.remember(set, |memory| {
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    });
    let requested = match error {
        ReconcileError::Write { retry_after, .. } => retry_after.unwrap_or(0),
        _ => 0,
    };
    let pause = (1_u32 << (failures - 1).min(6)).min(MAX_BACKOFF).max(requested);
    tracing::warn!(namespace = set.namespace(), set = set.name_any(), %error, pause, "reconcile failed, requeueing");
    context.forget_if_deleted(set);
    Duration::from_secs(pause.into())
}

async fn reconcile_set(set: &SlimSet, context: &Arc<Context>) -> Result<Reconciled, ReconcileError> {
    if context.has_namesake(set) {
        return report_namesake(set, context).await.map(Reconciled::Until);
    }
    let volumes = context.volumes(set).await?;
    if volumes == Volumes::Unread {
        let is_reported = set.is_managed() || context.report_of(set).is_some();
        let view = context.view(set)?;
        let opened = context.opened(set, &view);
        return unread(set, context, (&view, &opened), is_reported).await;
    }
    let lacks = volumes == Volumes::Lacking;
    if !lacks && let Some(rests) = context.has_nothing_to_do(set) {
        return Ok(Reconciled::Until(context.rest_or_replace(set, rests)));
    }
    let view = context.view(set)?;
    let target = Target::of(&view, &context.settings);
    if !lacks && context.was_reported(set, &view, &target) {
        let rests = context.settle(set);
        return Ok(Reconciled::Until(context.rest_or_replace(set, Some(rests))));
    }
    let rolls_out = target.is_ok();
    let counts = target.is_err_and(|idle| context.counts(set, &view, idle));
    let missing = if rolls_out {
        context.admission.distrusts(set).await?
    } else {
        None
    };
    // A rollout from before the policy may have ended.
    let is_read = missing.as_ref().is_none_or(|idle| *idle == Idle::StagedBeforePolicy);
    let opened = if counts || lacks || rolls_out && is_read {
        let opened = context.opened(set, &view);
        if !opened.is_ready() || opened.unlisted(Instant::now()).is_some() {
            return unread(set, context, (&view, &opened), true).await;
        }
        Some(opened)
    } else {
        None
    };
    let seen = (&view, opened.as_deref(), missing.as_ref());
    decide_and_execute(set, context, seen).await.map(Reconciled::Until)
}

/// The PVCs and Pods are not known, or no longer. If they cannot be listed for a minute, that is reported.
async fn unread(
    set: &SlimSet,
    context: &Arc<Context>,
    (view, opened): (&SetView, &Namespace),
    is_reported: bool,
) -> Result<Reconciled, ReconcileError> {
    let Some(idle) = opened.unlisted(Instant::now()).filter(|_| is_reported) else {
        return Ok(Reconciled::Unread);
    };
    let known = opened.is_ready().then_some(opened);
    let reported = decide_and_execute(set, context, (view, known, Some(&idle))).await;
    reported.map(Reconciled::Until)
}

/// Reports that the PVCs of the set are left alone because of its namesake: in its ClaimRollout, or only with an Event if
/// that is the ClaimRollout of the other.
async fn report_namesake(set: &SlimSet, context: &Arc<Context>) -> Result<Next, ReconcileError> {
    context.close(set);
    if !context.is_report_of_other(set) {
        let view = context.view(set)?;
        return decide_and_execute(set, context, (&view, None, Some(&Idle::Namesake))).await;
    }
    let notice = EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: None,
        reason: Reason::ClaimRolloutStalled,
        message: Idle::Namesake.to_string(),
    };
    context.emit(set, &notice).await;
    Ok(Some(Duration::from_secs(NAMESAKE_RECHECK)))
}

/// What was read for a reconcile: the set, the watch on its PVCs and Pods, and why nothing is rolled out.
type Seen<'s> = (&'s SetView, Option<&'s Namespace>, Option<&'s Idle>);

/// Decides and executes, round by round.
async fn decide_and_execute(
    set: &SlimSet,
    context: &Arc<Context>,
    (view, opened, missing): Seen<'_>,
) -> Result<Next, ReconcileError> {
    let mut has_begun = false;
    for _ in 0..MAX_ROUNDS {
        let plan = context.decide(set, view, opened, missing).await?;
        // No write depends on the report. If it cannot be written, the last report of this reconcile returns the error.
        if !std::mem::replace(&mut has_begun, true) && plan.actions.iter().any(is_beginning) {
            drop(context.report(set, view, &plan).await);
        }
        let (round, done) = context.execute_all(set, &plan).await;
        if done.is_err() {
            context.report(set, view, &plan).await?;
            context.remembered(set, SetMemory::retry_is_reported);
            done?;
        }
        match round {
            RoundOutcome::DecideAgain => {}
            RoundOutcome::Nothing if plan.actions.iter().any(is_ending) => return Ok(after(Some(context.end(set)))),
            RoundOutcome::Nothing if context.read_events(set, &plan.progress).await => {}
            RoundOutcome::Nothing => {
                let written = context.report(set, view, &plan).await;
                let is_reported = match &written {
                    Ok(written) => *written != ReportWrite::Later,
                    Err(error) => error.is_of_history(),
                };
                if is_reported {
                    context.remembered(set, SetMemory::retry_is_reported);
                }
                let written = written?;
                // A set is not settled before its report is written.
                let rests = match written {
                    ReportWrite::Later => None,
                    ReportWrite::Nothing | ReportWrite::Something => context.rests(set, &plan),
                };
                let due = if plan.settled {
                    context.replace_if_due(set)
                } else {
                    None
                };
                return Ok(next(&plan, written, rests.into_iter().chain(due).min()));
            }
            RoundOutcome::Overtaken => {
                let now = (context.clock)();
                if context.remembered(set, |memory| memory.is_late(now)) == Some(true) {
                    context.report(set, view, &plan).await?;
                }
                return Ok(Some(AFTER_CONFLICT));
            }
        }
        if context.stopping.load(Ordering::Acquire) {
            return Ok(None);
        }
    }
    Ok(Some(Duration::ZERO))
}

/// The requeue after a reconcile that had nothing to write.
fn next(plan: &Plan, written: ReportWrite, rests: Option<Seconds>) -> Next {
    let report = (written == ReportWrite::Later).then_some(COLLECT);
    let inquiry = read_events::is_needed(&plan.progress).then_some(read_events::PATIENCE);
    after(
        plan.requeue_after
            .into_iter()
            .chain(inquiry)
            .chain(report)
            .chain(rests)
            .min(),
    )
}

/// A requeue after this many seconds, or only on a change.
fn after(seconds: Option<Seconds>) -> Next {
    seconds.map(Duration::from_secs)
}

/// True iff the target is new: it is reported before the first PVC is written.
fn is_beginning(action: &Action) -> bool {
    matches!(
        action,
        Action::Event(EventNotice {
            reason: Reason::ClaimsStaged,
            ..
        })
    )
}

/// True iff this write completes the rollout. The reconcile of the set after the write reports the completion.
fn is_ending(action: &Action) -> bool {
    matches!(action, Action::SetStaged(SetStaged { change: Some(change), .. }) if change.phase == Phase::Complete)
}

impl Context {
    /// True iff the set is one of OpenKruise that is to be rolled out, and one of Kubernetes has its name. Their Pods,
    /// PVCs and ClaimRollouts would have the same names.
    fn has_namesake(&self, set: &SlimSet) -> bool {
        set.kind == SetKind::OpenKruise && set.is_managed() && self.namesake(set).is_some()
    }

    /// The watch on the PVCs and Pods of the set.
    pub(super) fn opened(&self, set: &SlimSet, view: &SetView) -> Arc<Namespace> {
        let name = [&*view.namespace, &*view.name, &*view.uid];
        self.namespaces.open(name, set.template_names())
    }

    /// For how many seconds no reconcile is needed, or none until the set changes. Either the set is not managed,
    /// because it has no staged change and no ClaimRollout, or it is settled.
    fn has_nothing_to_do(&self, set: &SlimSet) -> Option<Option<Seconds>> {
        let report = self.report_of(set);
        if report.is_none() && !set.is_managed() {
            self.forget(set);
            return Some(None);
        }
        if let Some(rests) = self.is_ending(set) {
            return Some(Some(rests));
        }
        let settled = self.remembered(set, |memory| memory.settled).flatten()?;
        settled
            .rests((self.clock)(), Basis::of(set, report.as_deref()))
            .map(Some)
    }

    /// The rollout is complete. Returns for how many seconds the watch may still show the set as it was before the
    /// write.
    fn end(&self, set: &SlimSet) -> Seconds {
        let ended = (set.resource_version().unwrap_or_default(), (self.clock)());
        self.remember(set, |memory| memory.ended = Some(ended));
        WATCH_LAG
    }

    /// For how many seconds to wait while the watch shows the set as it was before our last write. A reconcile would
    /// repeat the write and get a conflict.
    fn is_ending(&self, set: &SlimSet) -> Option<Seconds> {
        let now = (self.clock)();
        let (seen, at) = self.remembered(set, |memory| memory.ended.clone()).flatten()?;
        let left = at.saturating_add(WATCH_LAG).checked_sub(now);
        let left = left.filter(|left| (1..=WATCH_LAG).contains(left));
        left.filter(|_| set.resource_version() == Some(seen))
    }

    /// The requeue delay of a set with nothing left to do, except perhaps to write the target to the history.
    fn rests(&self, set: &SlimSet, plan: &Plan) -> Option<Seconds> {
        let unkept = self.remembered(set, |memory| memory.unkept > 0) == Some(true);
        if unkept {
            return Some(history::PAUSE);
        }
        plan.settled.then(|| self.settle(set))
    }

    /// The requeue of a settled set, which may be due for its replacement.
    fn rest_or_replace(self: &Arc<Self>, set: &SlimSet, rests: Option<Seconds>) -> Next {
        self.remembered(set, SetMemory::retry_is_reported);
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
