//! Writes, and hands the outcomes to the memory.

use std::sync::Arc;

use kube::{Api, ResourceExt};
use serde_json::Value;

use super::{changed_writes, requests};
use crate::api::ApiOutcome;
use crate::claims::Claim;
use crate::controller::calls::caller::Caller;
use crate::controller::calls::error::ReconcileError;
use crate::controller::memory::memories::{Memories, OfApi};
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::set::{Patched, SlimSet};
use crate::controller::observe::budgets;
use crate::controller::report::events;
use crate::controller::report::reporter::updated;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome, WriteReply};
use crate::rollout::{ApplyClaim, SetStagedAt};

/// Writes, and notes what came of it.
pub(crate) struct Writer {
    pub(crate) caller: Caller,
    pub(crate) memories: Arc<Memories>,
}

impl Writer {
    /// Hands the answer to a write to the memory of the set, with the reply if it is a PVC.
    pub(crate) fn answered(
        &self,
        set: &SlimSet,
        what: &'static str,
        attempt: &AttemptedWrite<'_, OfApi>,
        outcome: ApiOutcome<Option<Claim>>,
    ) -> Result<RoundOutcome, ReconcileError> {
        let now = self.caller.now();
        let mut requested = None;
        let reply = match outcome {
            ApiOutcome::Done(claim) => WriteReply::Done(claim),
            ApiOutcome::Conflict(message) => WriteReply::Overtaken("Conflict".to_owned(), message),
            ApiOutcome::NotFound(message) => WriteReply::Overtaken("NotFound".to_owned(), message),
            ApiOutcome::Denied { cause, message, .. } if cause == changed_writes::CAUSE => WriteReply::Undone(message),
            ApiOutcome::Denied { cause, message, stored } => WriteReply::Denied { cause, message, stored },
            ApiOutcome::Unsure { why, retry_after } => {
                requested = retry_after;
                WriteReply::Unsure(why)
            }
        };
        let answered = self
            .memories
            .remember(set, |memory| memory.answered(attempt, reply, now));
        answered.map_err(|why| ReconcileError::Write {
            what,
            why,
            retry_after: requested,
        })
    }

    /// Applies to a PVC.
    pub(super) async fn apply(&self, set: &SlimSet, apply: &ApplyClaim) -> Result<RoundOutcome, ReconcileError> {
        let claims: Api<SlimClaim> = self.caller.namespaced(&set.namespace().unwrap_or_default());
        let written = requests::apply_claim(&claims, apply).await;
        let outcome = written.as_str();
        self.caller.metrics.claim_write(outcome);
        tracing::info!(
            namespace = set.namespace(),
            set = set.name_any(),
            claim = apply.name.as_str(),
            label = %apply.label,
            storage = %apply.storage,
            taken_back = apply.taken_back.map(tracing::field::display),
            outcome,
            "apply PVC"
        );
        let is_done = matches!(written, ApiOutcome::Done(_));
        if is_done {
            budgets::note_modified(&self.memories, set, apply);
        }
        let attempt = AttemptedWrite::Apply {
            uid: &apply.uid,
            version: &apply.resource_version,
            label: &apply.label,
            write: apply.resource_version.clone(),
        };
        let written = written.and_then(|claim| ApiOutcome::Done(Some(claim)));
        let answered = self.answered(set, "PVC", &attempt, written);
        if is_done {
            events::emit(&self.caller, set, &updated(set, apply)).await;
        }
        answered
    }

    /// Writes when this staging was first seen, by our clock or by that of the API server: the earlier of both. PVCs that
    /// were created since are never deleted, so a clock that is ahead must not count.
    pub(super) async fn set_staged_at(
        &self,
        set: &SlimSet,
        action: &SetStagedAt,
    ) -> Result<RoundOutcome, ReconcileError> {
        const WHAT: &str = "annotation staged-at";
        let sets: Api<Patched> = self.caller.namespaced(&set.namespace().unwrap_or_default());
        let body = requests::staged_at(action, action.at).unwrap_or_default();
        let written = requests::server_time(&sets, &set.name_any(), &body).await;
        if let ApiOutcome::Done(time) = written {
            let body = requests::staged_at(action, action.at.min(time)).unwrap_or_default();
            return self.annotate(set, WHAT, &body).await;
        }
        self.annotated(set, (WHAT, &action.set.resource_version), written)
    }

    /// Patches the set. The watch then shows the change and requeues the set.
    pub(super) async fn annotate(
        &self,
        set: &SlimSet,
        what: &'static str,
        body: &Value,
    ) -> Result<RoundOutcome, ReconcileError> {
        let sets: Api<Patched> = self.caller.namespaced(&set.namespace().unwrap_or_default());
        let written = requests::patch(&sets, &set.name_any(), body).await;
        self.caller.metrics.set_write(what, written.as_str());
        let (namespace, annotations) = (set.namespace(), &body["metadata"]["annotations"]);
        let (set_name, outcome_label) = (set.name_any(), written.as_str());
        tracing::info!(namespace, set = set_name, %annotations, outcome = outcome_label, "patch StatefulSet: {what}");
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        self.annotated(set, (what, version), written)
    }

    /// Notes the answer to a patch of this version of the set.
    fn annotated<T>(
        &self,
        set: &SlimSet,
        (what, version): (&'static str, &str),
        written: ApiOutcome<T>,
    ) -> Result<RoundOutcome, ReconcileError> {
        let attempt = AttemptedWrite::Set(format!("{what} {version}"));
        self.answered(set, what, &attempt, written.and_then(|_| ApiOutcome::Done(None)))
    }
}
