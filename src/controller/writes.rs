//! The writes of a plan, and what is remembered of them.

use std::sync::atomic::Ordering;

use kube::{Api, ResourceExt};
use serde_json::Value;

use super::act::{self, Outcome};
use super::context::Context;
use super::error::ReconcileError;
use super::report::updated;
use super::slim::{Applied, Patched, Set};
use super::undone::{self, Undone};
use crate::rollout::{Action, ApplyClaim, Plan};

/// After so many failures in a row, which take a minute, what is not answered counts as refused.
const UNANSWERED: u32 = 6;

/// The cause of such a refusal, beside those of the API server.
const NOT_ANSWERED: &str = "NotAnswered";

/// What came of the writes of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Acted {
    /// There was nothing to write.
    Nothing,
    /// Something is known now that was not.
    Requeue,
    /// Something had changed since it was seen; the watches will show it.
    Overtaken,
}

impl Context {
    /// Executes the writes of a plan, one after the other. One that fails keeps no other from being made; the first failure
    /// is what is returned.
    pub(super) async fn act(&self, set: &Set, plan: &Plan) -> (Acted, Result<(), ReconcileError>) {
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

    async fn execute(&self, set: &Set, action: &Action) -> Result<Acted, ReconcileError> {
        match action {
            Action::ApplyClaim(apply) => self.apply(set, apply).await,
            Action::SetStaged(action) => self.annotate(set, "record", &act::staged_change(action)?).await,
            Action::SetReady(action) => self.annotate(set, "ready", &act::ready(action)).await,
            Action::Evict(evict) => Ok(self.evict(set, evict).await),
            Action::Event(_) => Ok(Acted::Nothing),
        }
    }

    async fn apply(&self, set: &Set, apply: &ApplyClaim) -> Result<Acted, ReconcileError> {
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
                self.emit(set, &updated(set, apply)).await;
                Ok(Acted::Requeue)
            }
            Outcome::Refused { cause, message, stored } => {
                let now = (self.clock)();
                self.remember(set, |memory| memory.refused(apply, (cause, message), stored, now));
                Ok(Acted::Requeue)
            }
            Outcome::Conflict | Outcome::Gone => Ok(Acted::Overtaken),
            Outcome::Unsure { why, .. } if self.is_unanswered(set, &apply.uid) => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.refused(apply, (NOT_ANSWERED.to_owned(), why), None, now);
                });
                Ok(Acted::Requeue)
            }
            Outcome::Unsure { why, retry_after } => Err(ReconcileError::Write {
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
    async fn annotate(&self, set: &Set, what: &'static str, body: &Value) -> Result<Acted, ReconcileError> {
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
                Ok(Acted::Requeue)
            }
            Outcome::Unsure { why, retry_after } if !self.is_unanswered(set, "") => {
                Err(ReconcileError::Write { what, why, retry_after })
            }
            Outcome::Refused { message: why, .. } | Outcome::Unsure { why, .. } => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.refused = Some(Undone::again(memory.refused.as_ref(), why, now));
                });
                Ok(Acted::Requeue)
            }
        }
    }
}
