//! One look at one set: gather what is seen, decide, act, report.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::controller::Action as Next;

use super::context::Context;
use super::error::ReconcileError;
use super::settled::{Basis, Settled};
use super::slim::Set;
use super::status::{COLLECT, Written};
use super::writes::Acted;
use super::{history, read_events};
use crate::rollout::{Action, EventNotice, Plan, Reason, Seconds, SetStaged, Target};
use crate::templates::{Phase, keys};

/// How many times a look may go round before others have their turn.
const MAX_ROUNDS: u32 = 32;

/// Time before another look after a conflict; the watch usually is faster.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// Seconds within which the watch shows what was written, or is broken.
const SHOWN: Seconds = 30;

/// The longest time in seconds before a look that failed is repeated, unless the API server asks for more.
const LONGEST_PAUSE: u32 = 60;

/// Looks at a set once, and says when to look again.
pub(super) async fn reconcile(set: Arc<Set>, context: Arc<Context>) -> Result<Next, ReconcileError> {
    let begun = tokio::time::Instant::now();
    let result = reconcile_set(&set, &context).await;
    context.metrics.reconciled(begun.elapsed().as_secs_f64());
    if result.is_ok() {
        context.remembered(&set, |memory| memory.failures = 0);
    }
    context.leave_if_gone(&set);
    result
}

/// When to look again after a failure: after a second, doubling up to a minute, or as the API server asks. It is no longer
/// because nothing may wake the set when an API server that was away is back: its watches go on where they were.
#[expect(clippy::needless_pass_by_value, reason = "the signature is kube's")]
pub(super) fn after_failure(set: Arc<Set>, error: &ReconcileError, context: Arc<Context>) -> Next {
    context.metrics.failure();
    context.places.pass(&set.uid().unwrap_or_default());
    let failures = context.remember(&set, |memory| {
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    });
    let asked = match error {
        ReconcileError::Write { retry_after, .. } => retry_after.unwrap_or(0),
        _ => 0,
    };
    let pause = (1_u32 << (failures - 1).min(6)).min(LONGEST_PAUSE).max(asked);
    tracing::warn!(namespace = set.namespace(), set = set.name_any(), %error, pause, "the look failed");
    context.leave_if_gone(&set);
    Next::requeue(Duration::from_secs(pause.into()))
}

async fn reconcile_set(set: &Set, context: &Context) -> Result<Next, ReconcileError> {
    if let Some(rests) = context.has_nothing_to_do(set) {
        return Ok(after(rests));
    }
    let view = context.view(set)?;
    let target = Target::of(&view, &context.settings);
    if context.was_reported(set, &view, &target) {
        return Ok(after(Some(context.settle(set))));
    }
    let rolls_out = target.is_ok();
    let counts = target.is_err_and(|idle| context.counts(set, &view, idle));
    let missing = if rolls_out {
        context.admission.missing(&view.namespace).await?
    } else {
        None
    };
    let opened = if counts || rolls_out && missing.is_none() {
        let opened = context
            .namespaces
            .open([&view.namespace, &view.name, &view.uid], set.template_names());
        if !opened.is_ready() {
            // It is woken when the lists have been read.
            return Ok(Next::await_change());
        }
        Some(opened)
    } else {
        None
    };
    let mut began = false;
    for _ in 0..MAX_ROUNDS {
        let plan = context.decide(set, &view, opened.as_deref(), missing.as_ref()).await?;
        // Nothing that is done depends on the report: where it cannot be written, that is said at the end.
        if !std::mem::replace(&mut began, true) && plan.actions.iter().any(is_beginning) {
            drop(context.report(set, &view, &plan).await);
        }
        let (acted, done) = context.act(set, &plan).await;
        if done.is_err() {
            context.report(set, &view, &plan).await?;
            done?;
        }
        match acted {
            Acted::Requeue => {}
            Acted::Nothing if plan.actions.iter().any(is_ending) => return Ok(after(Some(context.end(set)))),
            Acted::Nothing if context.read_events(set, &plan.progress).await => {}
            Acted::Nothing => {
                let written = context.report(set, &view, &plan).await?;
                return Ok(next(&plan, written, context.rests(set, &plan)));
            }
            Acted::Overtaken => return Ok(Next::requeue(AFTER_CONFLICT)),
        }
        if context.stopping.load(Ordering::Acquire) {
            return Ok(Next::await_change());
        }
    }
    Ok(Next::requeue(Duration::ZERO))
}

/// When to look again although nothing is seen to change.
fn next(plan: &Plan, written: Written, rests: Option<Seconds>) -> Next {
    let report = (written == Written::Later).then_some(COLLECT);
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

/// After so many seconds, or when something is seen to change.
fn after(seconds: Option<Seconds>) -> Next {
    seconds.map_or_else(Next::await_change, |seconds| {
        Next::requeue(Duration::from_secs(seconds))
    })
}

/// True iff a wish is new: it is reported before the first claim is written for it.
fn is_beginning(action: &Action) -> bool {
    matches!(
        action,
        Action::Event(EventNotice {
            reason: Reason::ClaimsStaged,
            ..
        })
    )
}

/// True iff the rollout is over once this is done. The look at the set as it is then reports the end, and all that is to be
/// said until then.
fn is_ending(action: &Action) -> bool {
    matches!(action, Action::SetStaged(SetStaged { change: Some(change), .. }) if change.phase == Phase::Complete)
}

impl Context {
    /// For how many seconds the set is not looked at, or not until it changes: it is none of ours, because it has no record and
    /// was never reported. Or nothing was left to do for it, and nothing that this depends on has changed since.
    fn has_nothing_to_do(&self, set: &Set) -> Option<Option<Seconds>> {
        let report = self.report_of(set);
        if report.is_none() && set.annotation(keys::STAGED).is_none() {
            self.leave(set);
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

    /// The rollout is over, and the watch shows the set as it was before: for how many seconds that may last.
    fn end(&self, set: &Set) -> Seconds {
        let ended = (set.resource_version().unwrap_or_default(), (self.clock)());
        self.remember(set, |memory| memory.ended = Some(ended));
        SHOWN
    }

    /// For how many seconds a set is not looked at that is seen as it was before our last write to it: it would be written
    /// again, in vain.
    fn is_ending(&self, set: &Set) -> Option<Seconds> {
        let now = (self.clock)();
        let (seen, at) = self.remembered(set, |memory| memory.ended.clone()).flatten()?;
        let left = at.saturating_add(SHOWN).checked_sub(now);
        let left = left.filter(|left| (1..=SHOWN).contains(left));
        left.filter(|_| set.resource_version() == Some(seen))
    }

    /// After how many seconds to look again although nothing is left to do, but perhaps to keep the wish in the history.
    fn rests(&self, set: &Set, plan: &Plan) -> Option<Seconds> {
        let unkept = self.remembered(set, |memory| memory.unkept > 0) == Some(true);
        let unkept = unkept.then_some(history::PAUSE);
        unkept.or_else(|| plan.settled.then(|| self.settle(set)))
    }

    /// Nothing is left to do for the set: its claims need not be watched until it changes, or so many seconds have passed.
    fn settle(&self, set: &Set) -> Seconds {
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
