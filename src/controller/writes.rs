//! Executes the writes of a plan, and hands their outcomes to the memory.

use kube::{Api, ResourceExt};
use serde_json::Value;

use super::api_calls::{self, ApiOutcome};
use super::context::Context;
use super::error::ReconcileError;
use super::memory::OfApi;
use super::report::updated;
use super::slim_claim::Applied;
use super::slim_set::{Patched, SlimSet};
use super::undone;
use crate::claims::Claim;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome, WriteReply};
use crate::rollout::{Action, ApplyClaim, SetStagedAt};

/// The outcome of a write: the reply, if it is a PVC, and the message of a failure.
pub(super) type WriteOutcome = (ApiOutcome<Option<Claim>>, String);

impl Context {
    /// Executes an action. An Event is emitted with the report.
    pub(super) async fn execute(&self, set: &SlimSet, action: &Action) -> Result<RoundOutcome, ReconcileError> {
        match action {
            Action::ApplyClaim(apply) => self.apply(set, apply).await,
            Action::SetStaged(action) => {
                self.annotate(set, "annotation staged", &api_calls::staged_change(action)?)
                    .await
            }
            Action::SetStagedAt(action) => self.set_staged_at(set, action).await,
            Action::SetReady(action) => self.annotate(set, "annotation ready", &api_calls::ready(action)).await,
            Action::HoldStaged(action) => self.annotate(set, "annotation ready", &api_calls::hold(action)).await,
            Action::Evict(evict) => self.evict(set, evict).await,
            Action::TakeSnapshot(take) => self.take_snapshot(set, take).await,
            Action::MarkClaim(claim) => self.mark_claim(set, claim, true).await,
            Action::UnmarkClaim(claim) => self.mark_claim(set, claim, false).await,
            Action::DeleteClaim(claim) => self.delete_claim(set, claim).await,
            Action::Event(_) => Ok(RoundOutcome::Nothing),
        }
    }

    /// Hands the outcome of a write to the memory of the set.
    pub(super) fn answered(
        &self,
        set: &SlimSet,
        what: &'static str,
        attempt: &AttemptedWrite<'_, OfApi>,
        (outcome, message): WriteOutcome,
    ) -> Result<RoundOutcome, ReconcileError> {
        let (now, cause) = ((self.clock)(), outcome.reason());
        let mut requested = None;
        let reply = match outcome {
            ApiOutcome::Done(claim) => WriteReply::Done(claim),
            ApiOutcome::Conflict | ApiOutcome::NotFound => WriteReply::Overtaken(cause.to_owned(), message),
            ApiOutcome::Denied { cause, message, .. } if cause == undone::CAUSE => WriteReply::Undone(message),
            ApiOutcome::Denied { cause, message, stored } => WriteReply::Denied { cause, message, stored },
            ApiOutcome::Unsure { why, retry_after } => {
                requested = retry_after;
                WriteReply::Unsure(why)
            }
        };
        let answered = self.remember(set, |memory| memory.answered(attempt, reply, now));
        answered.map_err(|why| ReconcileError::Write {
            what,
            why,
            retry_after: requested,
        })
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
        let is_done = matches!(outcome, ApiOutcome::Done(_));
        if is_done {
            self.note_modified(set, apply);
        }
        let attempt = AttemptedWrite::Apply {
            uid: &apply.uid,
            version: &apply.resource_version,
            label: &apply.label,
            write: apply.resource_version.clone(),
        };
        let outcome = outcome.and_then(|claim| ApiOutcome::Done(Some(claim)));
        let answered = self.answered(set, "PVC", &attempt, (outcome, answer));
        if is_done {
            self.emit(set, &updated(set, apply)).await;
        }
        answered
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
        let attempt = AttemptedWrite::Set(format!("{what} {version}"));
        let outcome = outcome.and_then(|_| ApiOutcome::Done(None));
        self.answered(set, what, &attempt, (outcome, answer))
    }
}

#[cfg(test)]
#[path = "writes_tests.rs"]
mod tests;
