//! Reports a rollout: ClaimRollout, history, Events.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::Api;

use super::api_calls::ApiOutcome;
use super::context::Context;
use super::crd::ClaimRollout;
use super::error::{HISTORY, ReconcileError};
use super::last_reports::content;
use super::locking::lock;
use super::memory::RolloutMemory;
use super::slim_rollout::SlimRollout;
use super::slim_set::SlimSet;
use super::{events, history, status};
use crate::gate::SetView;
use crate::rollout::history::target;
use crate::rollout::machine::ReportWrite;
use crate::rollout::{Action, ApplyClaim, EventNotice, Plan, Reason};
use crate::templates::{Quantity, StagedChange};

impl Context {
    /// Writes the progress of a plan to the ClaimRollout and emits the Events of the plan. Returns whether a part of
    /// the progress is to be written later.
    ///
    /// If the ClaimRollout cannot be written, an Event reports the error; the Events of the plan are emitted anyway.
    pub(super) async fn report(
        &self,
        set: &SlimSet,
        view: &SetView,
        plan: &Plan,
    ) -> Result<ReportWrite, ReconcileError> {
        let written = self.write_report(set, view, plan).await;
        if let Err(error) = &written {
            let message = format!("{error}; the rollout goes on");
            self.emit(set, &unreported(set, message)).await;
        }
        for action in &plan.actions {
            if let Action::Event(emit) = action {
                self.emit(set, emit).await;
            }
        }
        let early = self.remembered(set, |memory| {
            let (early, waiting) = plan.kept_pods.after(&memory.kept_pods);
            memory.kept_pods = waiting;
            early
        });
        for notice in early.iter().flatten() {
            self.emit(set, notice).await;
        }
        let unlisted = &plan.progress.unlisted;
        self.remembered(set, |memory| memory.remember_unlisted(unlisted));
        written
    }

    async fn write_report(&self, set: &SlimSet, view: &SetView, plan: &Plan) -> Result<ReportWrite, ReconcileError> {
        let rollouts: Api<SlimRollout> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let seen = self.report_of(set);
        let (uid, now) = (set.uid().unwrap_or_default(), (self.clock)());
        let spec = status::spec(set, &plan.progress, self.settings.default_replace_set);
        let content = content(&spec, &plan.progress);
        let restores = lock(&self.last_reports).restores(&uid, content, now);
        let outcome = status::ensure(&rollouts, set, spec, seen, restores).await;
        let (rollout, of_spec) = self.reported(set, outcome)?;
        if of_spec == ReportWrite::Later {
            return Ok(of_spec);
        }
        let kept = self.keep(set, view, plan, &rollout).await;
        let last = status::Last {
            at: self.remembered(set, |memory| memory.reported_at).flatten(),
            restores,
        };
        let outcome = status::write(&rollouts, &plan.progress, rollout, last, now).await;
        let (_, written) = self.reported(set, outcome)?;
        if [of_spec, written].contains(&ReportWrite::Something) {
            lock(&self.last_reports).note(&uid, content, now);
        }
        if written != ReportWrite::Later && !plan.settled {
            self.remember(set, |memory| memory.reached = plan.progress.reached.clone());
        }
        // The status does not wait for the history, which is written by the next reconcile.
        kept.map(|()| written)
    }

    /// Notes the outcome of a write of the ClaimRollout.
    fn reported(
        &self,
        set: &SlimSet,
        outcome: ApiOutcome<(Arc<ClaimRollout>, ReportWrite)>,
    ) -> Result<(Arc<ClaimRollout>, ReportWrite), ReconcileError> {
        let label = outcome.as_str();
        match outcome {
            ApiOutcome::Done((rollout, ReportWrite::Something)) => {
                self.metrics.report_write(label);
                let now = (self.clock)();
                self.remember(set, |memory| memory.reported(Arc::clone(&rollout), now));
                Ok((rollout, ReportWrite::Something))
            }
            ApiOutcome::Done(unwritten) => Ok(unwritten),
            other => {
                self.metrics.report_write(label);
                self.remember(set, RolloutMemory::report_failed);
                Err(failed("ClaimRollout", other))
            }
        }
    }

    /// Writes a new target to the history. A denied write is logged and the rollout goes on, because nothing depends
    /// on the history. The write is retried while another object has the name, such as the revision of a deleted
    /// ClaimRollout until the garbage collector deletes it.
    async fn keep(
        &self,
        set: &SlimSet,
        view: &SetView,
        plan: &Plan,
        rollout: &ClaimRollout,
    ) -> Result<(), ReconcileError> {
        let unkept = self.remembered(set, |memory| memory.unkept).unwrap_or_default();
        let is_due = |change: &&StagedChange| unkept > 0 || history::is_due(rollout, &change.label());
        let change = target(view, &self.settings).filter(is_due);
        let Some(change) = change.filter(|_| !plan.halted) else {
            return Ok(());
        };
        let current = &plan.progress.current_revision;
        let outcomes = match history::keep(&self.client, set, rollout, change, current).await {
            ApiOutcome::Done(outcomes) => outcomes,
            other => vec![other.and_then(|_| ApiOutcome::Done(()))],
        };
        let unkept = history::unkept(&outcomes, unkept);
        self.remember(set, |memory| memory.unkept = unkept);
        for outcome in outcomes {
            self.metrics.history_write(outcome.as_str());
            match outcome {
                ApiOutcome::Done(()) => {}
                ApiOutcome::Unsure { .. } => return Err(failed(HISTORY, outcome)),
                other => {
                    let (namespace, set) = (set.namespace(), set.name_any());
                    tracing::warn!(namespace, set, outcome = ?other, "failed to write the history");
                }
            }
        }
        Ok(())
    }

    pub(super) async fn emit(&self, set: &SlimSet, emit: &EventNotice) {
        events::publish(&self.client, &self.metrics, self.clock, set, emit).await;
    }
}

/// The error of a failed report. The next reconcile writes the report again.
fn failed<T>(what: &'static str, outcome: ApiOutcome<T>) -> ReconcileError {
    let label = outcome.as_str();
    let (why, retry_after) = match outcome {
        ApiOutcome::Denied { message, .. } => (message, None),
        ApiOutcome::Unsure { why, retry_after } => (why, retry_after),
        _ => (label.to_owned(), None),
    };
    ReconcileError::Write { what, why, retry_after }
}

/// The Event for a ClaimRollout that could not be written.
fn unreported(set: &SlimSet, message: String) -> EventNotice {
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: None,
        reason: Reason::ClaimRolloutNotWritten,
        message,
    }
}

/// The Event for a PVC that was updated.
pub(super) fn updated(set: &SlimSet, apply: &ApplyClaim) -> EventNotice {
    let class = apply
        .volume_attributes_class_name
        .as_ref()
        .map(|class| format!(", attributes class {class}"));
    let taken_back = apply
        .taken_back
        .map(|request| format!(" ({request} was not reached and is taken back)"));
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: Some((apply.name.to_string(), apply.uid.clone())),
        reason: Reason::ClaimUpdated,
        message: format!(
            "{}: revision {}, storage {}{}{}",
            apply.name,
            apply.label.revision,
            Quantity::to_string(&apply.storage),
            taken_back.unwrap_or_default(),
            class.unwrap_or_default()
        ),
    }
}
