//! Executes the writes of a plan, and notes their outcomes.

use std::sync::atomic::Ordering;

use kube::{Api, ResourceExt};
use serde_json::Value;

use super::api_calls::{self, ApiOutcome};
use super::context::Context;
use super::error::ReconcileError;
use super::memory::SET;
use super::report::updated;
use super::slim_claim::Applied;
use super::slim_set::{Patched, SlimSet};
use super::undone::{self, Undone};
use crate::rollout::{Action, ApplyClaim, Plan, Refusal, SetStagedAt};

/// The outcome of the writes of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoundOutcome {
    /// Nothing was left to write.
    Nothing,
    /// A write changed what the next decision depends on.
    DecideAgain,
    /// An object had changed since it was read. The watches will show the change.
    Overtaken,
}

impl Context {
    /// Executes the writes of a plan, one after the other. A failure does not prevent the next write; the first
    /// failure is returned.
    pub(super) async fn execute_all(&self, set: &SlimSet, plan: &Plan) -> (RoundOutcome, Result<(), ReconcileError>) {
        let (mut round, mut done) = (RoundOutcome::Nothing, Ok(()));
        for action in &plan.actions {
            if self.stopping.load(Ordering::Acquire) {
                return (RoundOutcome::Overtaken, done);
            }
            match self.execute(set, action).await {
                Ok(outcome) => round = round.max(outcome),
                Err(error) => done = done.and(Err(error)),
            }
        }
        (round, done)
    }

    async fn execute(&self, set: &SlimSet, action: &Action) -> Result<RoundOutcome, ReconcileError> {
        match action {
            Action::ApplyClaim(apply) => self.apply(set, apply).await,
            Action::SetStaged(action) => {
                self.annotate(set, "annotation staged", &api_calls::staged_change(action)?)
                    .await
            }
            Action::SetStagedAt(action) => self.set_staged_at(set, action).await,
            Action::SetReady(action) => self.annotate(set, "annotation ready", &api_calls::ready(action)).await,
            Action::HoldStaged(action) => self.annotate(set, "annotation ready", &api_calls::hold(action)).await,
            Action::Evict(evict) => Ok(self.evict(set, evict).await),
            Action::TakeSnapshot(take) => Ok(self.take_snapshot(set, take).await),
            Action::MarkClaim(claim) => Ok(self.mark_claim(set, claim, true).await),
            Action::UnmarkClaim(claim) => Ok(self.mark_claim(set, claim, false).await),
            Action::DeleteClaim(claim) => Ok(self.delete_claim(set, claim).await),
            Action::Event(_) => Ok(RoundOutcome::Nothing),
        }
    }

    async fn apply(&self, set: &SlimSet, apply: &ApplyClaim) -> Result<RoundOutcome, ReconcileError> {
        let claims: Api<Applied> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let (outcome, answer) = api_calls::apply_claim(&claims, apply).await;
        self.metrics.claim_write(outcome.as_str());
        tracing::info!(
            namespace = set.namespace(),
            set = set.name_any(),
            claim = apply.name.as_str(),
            label = %apply.label,
            storage = %apply.storage,
            taken_back = apply.taken_back.map(tracing::field::display),
            outcome = outcome.as_str(),
            "apply PVC"
        );
        match outcome {
            ApiOutcome::Done(claim) => {
                self.note_modified(set, apply);
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.applies.note(&apply.label, &claim, now);
                    memory.applied(claim);
                });
                self.emit(set, &updated(set, apply)).await;
                Ok(RoundOutcome::DecideAgain)
            }
            ApiOutcome::Denied { cause, message, stored } => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.unanswered.remove(&apply.uid);
                    memory.note_denied(apply, (cause, message), stored, now);
                });
                Ok(RoundOutcome::DecideAgain)
            }
            ApiOutcome::Conflict | ApiOutcome::NotFound => {
                let now = (self.clock)();
                let cause = outcome.reason();
                Ok(self.remember(set, |memory| {
                    // A webhook or a quota may deny with any code.
                    if !memory.is_stuck(&apply.uid, &apply.resource_version, now) {
                        return RoundOutcome::Overtaken;
                    }
                    memory.note_denied(apply, (cause.to_owned(), answer), None, now);
                    RoundOutcome::DecideAgain
                }))
            }
            ApiOutcome::Unsure { why, .. } if self.is_unanswered(set, &apply.uid) => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.note_denied(apply, (Refusal::NOT_ANSWERED.to_owned(), why), None, now);
                });
                Ok(RoundOutcome::DecideAgain)
            }
            ApiOutcome::Unsure { why, retry_after } => Err(ReconcileError::Write {
                what: "PVC",
                why,
                retry_after,
            }),
        }
    }

    /// True iff it has been unknown for about a minute whether the object was written. The write then counts as denied:
    /// the report shows it, and other PVCs do not wait for it if Pods are managed in parallel.
    fn is_unanswered(&self, set: &SlimSet, object: &str) -> bool {
        self.remember(set, |memory| memory.is_unanswered(object))
    }

    /// Writes when this staging was first seen, by our clock or by that of the API server: the earlier of both. PVCs that
    /// were created since are never deleted, so a clock that is ahead must not count.
    async fn set_staged_at(&self, set: &SlimSet, action: &SetStagedAt) -> Result<RoundOutcome, ReconcileError> {
        const WHAT: &str = "annotation staged-at";
        let sets: Api<Patched> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let body = api_calls::staged_at(action, action.at).unwrap_or_default();
        let (outcome, answer) = api_calls::server_time(&sets, &set.name_any(), &body).await;
        match outcome {
            ApiOutcome::Done(time) => {
                let body = api_calls::staged_at(action, action.at.min(time)).unwrap_or_default();
                self.annotate(set, WHAT, &body).await
            }
            outcome => self.annotated(set, (WHAT, &action.resource_version), (outcome, answer)),
        }
    }

    /// Patches the set. The watch then shows the change and requeues the set.
    async fn annotate(&self, set: &SlimSet, what: &'static str, body: &Value) -> Result<RoundOutcome, ReconcileError> {
        let sets: Api<Patched> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let (outcome, answer) = api_calls::patch(&sets, &set.name_any(), body).await;
        self.metrics.set_write(what, outcome.as_str());
        let (namespace, annotations) = (set.namespace(), &body["metadata"]["annotations"]);
        let (set_name, outcome_label) = (set.name_any(), outcome.as_str());
        tracing::info!(namespace, set = set_name, %annotations, outcome = outcome_label, "patch StatefulSet: {what}");
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        self.annotated(set, (what, version), (outcome, answer))
    }

    /// Notes the outcome of a patch of this version of the set, with the message of a failure.
    fn annotated<T>(
        &self,
        set: &SlimSet,
        (what, version): (&'static str, &str),
        (outcome, answer): (ApiOutcome<T>, String),
    ) -> Result<RoundOutcome, ReconcileError> {
        match outcome {
            ApiOutcome::Done(_) => {
                self.remembered(set, |memory| {
                    (memory.undone, memory.write_denied) = (None, None);
                    memory.overtaken.remove(SET);
                    memory.unanswered.remove(SET);
                });
                Ok(RoundOutcome::Nothing)
            }
            ApiOutcome::Conflict | ApiOutcome::NotFound => {
                let (now, write) = ((self.clock)(), format!("{what} {version}"));
                Ok(self.remember(set, |memory| {
                    if !memory.is_stuck(SET, &write, now) {
                        return RoundOutcome::Overtaken;
                    }
                    memory.write_denied = Some(Undone::again(memory.write_denied.as_ref(), answer, now));
                    RoundOutcome::DecideAgain
                }))
            }
            ApiOutcome::Denied { cause, message, .. } if cause == undone::CAUSE => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.undone = Some(Undone::again(memory.undone.as_ref(), message, now));
                });
                Ok(RoundOutcome::DecideAgain)
            }
            ApiOutcome::Unsure { why, retry_after } if !self.is_unanswered(set, SET) => {
                Err(ReconcileError::Write { what, why, retry_after })
            }
            ApiOutcome::Denied { message: why, .. } | ApiOutcome::Unsure { why, .. } => {
                let now = (self.clock)();
                self.remember(set, |memory| {
                    memory.write_denied = Some(Undone::again(memory.write_denied.as_ref(), why, now));
                });
                Ok(RoundOutcome::DecideAgain)
            }
        }
    }
}

#[cfg(test)]
#[path = "writes_tests.rs"]
mod tests;
