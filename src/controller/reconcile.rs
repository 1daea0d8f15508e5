//! One look at one set: gather what is seen, decide, act, report.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::runtime::controller::Action as Next;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::act::{self, Outcome};
use super::admission::Admission;
use super::crd::ClaimRollout;
use super::memory::Memory;
use super::metrics::Metrics;
use super::namespaces::Namespaces;
use super::places::Places;
use super::quotas::Shared;
use super::report::updated;
use super::settled::{Basis, Settled};
use super::slim::{Applied, Patched, Set};
use super::status::{COLLECT, Written};
use super::unblock::Unblock;
use super::undone::{self, Undone};
use super::watch::lock;
use super::{Clock, history, inquire, views};
use crate::api::Settings;
use crate::rollout::{Action, ApplyClaim, Plan, Reason, Seconds, SetRecord, Tell, Wish};
use crate::templates::{MaxInMotion, Phase, RecordError, keys};

/// How many times a look may go round before others have their turn.
const MAX_ROUNDS: u32 = 32;

/// Time before another look after a conflict; the watch usually is faster.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// Seconds within which the watch shows what was written, or is broken.
const SHOWN: Seconds = 30;

/// After so many failures in a row, which take a minute, what is not answered counts as refused.
const UNANSWERED: u32 = 6;

/// The cause of such a refusal, beside those of the API server.
const NOT_ANSWERED: &str = "NotAnswered";

/// The longest time in seconds before a look that failed is repeated, unless the API server asks for more.
const LONGEST_PAUSE: u32 = 60;

/// What every look needs.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) settings: Arc<Settings>,
    pub(super) max_in_motion: MaxInMotion,
    pub(super) places: Places,
    pub(super) sets: Store<Set>,
    pub(super) rollouts: Store<ClaimRollout>,
    pub(super) namespaces: Namespaces,
    pub(super) unblock: Unblock,
    pub(super) admission: Admission,
    pub(super) questions: inquire::Pace,
    pub(super) quota_lists: Shared,
    pub(super) metrics: Arc<Metrics>,
    pub(super) memories: Memories,
    /// Set once: nothing new is begun.
    pub(super) stopping: Arc<AtomicBool>,
}

/// What is remembered of each set, by uid.
pub(super) type Memories = std::sync::Mutex<HashMap<String, Memory>>;

/// Why a look failed. It is repeated.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// An object of the API cannot be read.
    #[error(transparent)]
    View(#[from] views::ViewError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What is registered for admission is not known.
    #[error("webhooks and policies: {0}")]
    Admission(String),
    /// A write did not succeed, or nobody knows.
    #[error("{what}: {why}")]
    Write {
        /// What was to be written.
        what: &'static str,
        /// Why it was not.
        why: String,
        /// Seconds that the API server asked to wait.
        retry_after: Option<u32>,
    },
}

/// Looks at a set once, and says when to look again.
pub(super) async fn reconcile(set: Arc<Set>, context: Arc<Context>) -> Result<Next, LookError> {
    let begun = tokio::time::Instant::now();
    let result = look(&set, &context).await;
    context.metrics.look(begun.elapsed().as_secs_f64());
    if result.is_ok() {
        context.remembered(&set, |memory| memory.failures = 0);
    }
    context.leave_if_gone(&set);
    result
}

/// When to look again after a failure: after a second, doubling up to a minute, or as the API server asks. It is no longer
/// because nothing may wake the set when an API server that was away is back: its watches go on where they were.
#[expect(clippy::needless_pass_by_value, reason = "the signature is kube's")]
pub(super) fn after_failure(set: Arc<Set>, error: &LookError, context: Arc<Context>) -> Next {
    context.metrics.failure();
    context.places.pass(&set.uid().unwrap_or_default());
    let failures = context.remember(&set, |memory| {
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    });
    let asked = match error {
        LookError::Write { retry_after, .. } => retry_after.unwrap_or(0),
        _ => 0,
    };
    let pause = (1_u32 << (failures - 1).min(6)).min(LONGEST_PAUSE).max(asked);
    tracing::warn!(namespace = set.namespace(), set = set.name_any(), %error, pause, "the look failed");
    context.leave_if_gone(&set);
    Next::requeue(Duration::from_secs(pause.into()))
}

async fn look(set: &Set, context: &Context) -> Result<Next, LookError> {
    if let Some(rests) = context.has_nothing_to_do(set) {
        return Ok(after(rests));
    }
    let view = context.view(set)?;
    let wish = Wish::of(&view, &context.settings);
    if context.was_reported(set, &view, &wish) {
        return Ok(after(Some(context.settle(set))));
    }
    let rolls_out = wish.is_ok();
    let counts = wish.is_err_and(|idle| context.counts(set, &view, idle));
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
            Acted::LookAgain => {}
            Acted::Nothing if plan.actions.iter().any(is_ending) => return Ok(after(Some(context.end(set)))),
            Acted::Nothing if context.inquire(set, &plan.progress).await => {}
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
    let inquiry = inquire::is_needed(&plan.progress).then_some(inquire::PATIENCE);
    after(plan.wake.into_iter().chain(inquiry).chain(report).chain(rests).min())
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
        Action::Tell(Tell {
            reason: Reason::ClaimsStaged,
            ..
        })
    )
}

/// True iff the rollout is over once this is done. The look at the set as it is then reports the end, and all that is to be
/// said until then.
fn is_ending(action: &Action) -> bool {
    matches!(action, Action::SetRecord(SetRecord { record: Some(record), .. }) if record.phase == Phase::Complete)
}

/// What came of the writes of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Acted {
    /// There was nothing to write.
    Nothing,
    /// Something is known now that was not.
    LookAgain,
    /// Something had changed since it was seen; the watches will show it.
    Overtaken,
}

impl Context {
    /// Executes the writes of a plan, one after the other. One that fails keeps no other from being made; the first failure
    /// is what is returned.
    async fn act(&self, set: &Set, plan: &Plan) -> (Acted, Result<(), LookError>) {
        let (mut acted, mut done) = (Acted::Nothing, Ok(()));
        for action in &plan.actions {
            if self.stopping.load(Ordering::Acquire) {
                return (Acted::Overtaken, done);
            }
            match self.execute(set, action).await {
                Ok(came_of_it) => acted = acted.max(came_of_it),
                Err(error) => done = done.and(Err(error)),
            }
        }
        (acted, done)
    }

    async fn execute(&self, set: &Set, action: &Action) -> Result<Acted, LookError> {
        match action {
            Action::ApplyClaim(apply) => self.apply(set, apply).await,
            Action::SetRecord(action) => self.annotate(set, "record", &act::record(action)?).await,
            Action::SetReady(action) => self.annotate(set, "ready", &act::ready(action)).await,
            Action::Evict(evict) => Ok(self.evict(set, evict).await),
            Action::Tell(_) => Ok(Acted::Nothing),
        }
    }

    async fn apply(&self, set: &Set, apply: &ApplyClaim) -> Result<Acted, LookError> {
        let claims: Api<Applied> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let outcome = act::apply_claim(&claims, apply).await;
        self.metrics.claim_write(outcome.as_str());
        tracing::info!(
            namespace = set.namespace(),
            set = set.name_any(),
            claim = apply.name.as_str(),
            revision = apply.revision.as_str(),
            storage = %apply.storage,
            taken_back = apply.taken_back.map(tracing::field::display),
            outcome = outcome.as_str(),
            "apply claim"
        );
        match outcome {
            Outcome::Done(claim) => {
                self.note_modified(set, apply);
                self.remember(set, |memory| memory.applied(claim));
                self.tell(set, &updated(set, apply)).await;
                Ok(Acted::LookAgain)
            }
            Outcome::Refused { cause, message, stored } => {
                let now = (self.clock)();
                self.remember(set, |memory| memory.refused(apply, (cause, message), stored, now));
                Ok(Acted::LookAgain)
            }
            Outcome::Conflict | Outcome::Gone => Ok(Acted::Overtaken),
            Outcome::Unsure { why, .. } if self.is_unanswered(set, &apply.uid) => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.refused(apply, (NOT_ANSWERED.to_owned(), why), None, now);
                });
                Ok(Acted::LookAgain)
            }
            Outcome::Unsure { why, retry_after } => Err(LookError::Write {
                what: "claim",
                why,
                retry_after,
            }),
        }
    }

    /// True iff nobody has known for about a minute whether the claim was written, so that it counts as refused: what stays
    /// is told, and keeps no other claim waiting where Pods are managed in parallel.
    fn is_unanswered(&self, set: &Set, claim: &str) -> bool {
        self.remembered(set, |memory| {
            memory.failures >= UNANSWERED || memory.refusals.contains_key(claim)
        })
        .unwrap_or(false)
    }

    /// Writes to the set. Once done, the set is seen to have changed, and looked at again.
    async fn annotate(&self, set: &Set, what: &'static str, body: &Value) -> Result<Acted, LookError> {
        let sets: Api<Patched> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let outcome = act::patch(&sets, &set.name_any(), body).await;
        self.metrics.set_write(what, outcome.as_str());
        let (namespace, annotations) = (set.namespace(), &body["metadata"]["annotations"]);
        tracing::info!(namespace, set = set.name_any(), %annotations, outcome = outcome.as_str(), "set {what}");
        match outcome {
            Outcome::Done(_) => {
                self.remembered(set, |memory| (memory.undone, memory.refused) = (None, None));
                Ok(Acted::Nothing)
            }
            Outcome::Conflict | Outcome::Gone => Ok(Acted::Overtaken),
            Outcome::Refused { cause, message, .. } if cause == undone::CAUSE => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.undone = Some(Undone::again(memory.undone.as_ref(), message, now));
                });
                Ok(Acted::LookAgain)
            }
            Outcome::Unsure { why, retry_after } if !self.is_unanswered(set, "") => {
                Err(LookError::Write { what, why, retry_after })
            }
            Outcome::Refused { message: why, .. } | Outcome::Unsure { why, .. } => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.refused = Some(Undone::again(memory.refused.as_ref(), why, now));
                });
                Ok(Acted::LookAgain)
            }
        }
    }

    /// Forgets the sets that are not there any more; some may have gone while nobody was watching.
    pub(super) fn prune(&self) {
        let there: HashSet<String> = self.sets.state().iter().filter_map(|set| set.uid()).collect();
        lock(&self.memories).retain(|uid, _| there.contains(uid));
        let exists = |namespace: &str, set: &str| self.sets.get(&ObjectRef::new(set).within(namespace)).is_some();
        self.namespaces.keep(|uid| there.contains(uid));
        self.places.retain(|uid| there.contains(uid));
        self.unblock.retain(|uid| there.contains(uid), exists);
    }

    /// Something of what is remembered of the set, if anything is.
    pub(super) fn remembered<T>(&self, set: &Set, then: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        lock(&self.memories).get_mut(&set.uid().unwrap_or_default()).map(then)
    }

    /// What is remembered of the set, from now on.
    pub(super) fn remember<T>(&self, set: &Set, then: impl FnOnce(&mut Memory) -> T) -> T {
        then(lock(&self.memories).entry(set.uid().unwrap_or_default()).or_default())
    }

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

    /// Who looks at a set that is deleted meanwhile remembers and watches something for it after it was forgotten.
    fn leave_if_gone(&self, set: &Set) {
        let known = self.sets.get(&ObjectRef::from_obj(set));
        if known.is_none_or(|known| known.uid() != set.uid()) {
            self.leave(set);
        }
    }

    /// The set is gone, or none of ours: nothing is remembered.
    pub(super) fn leave(&self, set: &Set) {
        self.close(set);
        lock(&self.memories).remove(&set.uid().unwrap_or_default());
    }

    /// Nothing is watched for the set any more.
    fn close(&self, set: &Set) {
        let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
        let set = [&*namespace, &*name, &*set.uid().unwrap_or_default()];
        self.namespaces.close(set);
        self.places.give_back(set[2]);
        self.unblock.waits(set, &[]);
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
