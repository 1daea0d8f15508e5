//! What is said of a set: its ClaimRollout, its history, Events.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::Api;

use super::act::Outcome;
use super::context::Context;
use super::crd::ClaimRollout;
use super::error::ReconcileError;
use super::memory::Memory;
use super::slim::Set;
use super::status::{self, Written};
use super::{events, history};
use crate::rollout::history::target;
use crate::rollout::{Action, ApplyClaim, EventNotice, Plan, Reason, SetView};
use crate::templates::{Quantity, StagedChange};

impl Context {
    /// Writes the progress of a plan where users read it, and then says what is to be said once; whether some of it is
    /// left to be written later.
    ///
    /// Where it cannot be written, an Event says so, and what is to be said once is said all the same.
    pub(super) async fn report(&self, set: &Set, view: &SetView, plan: &Plan) -> Result<Written, ReconcileError> {
        let written = self.write_report(set, view, plan).await;
        if let Err(error) = &written {
            let message = format!("the rollout goes on, and its ClaimRollout cannot be written: {error}");
            self.emit(set, &unreported(set, message)).await;
        }
        for action in &plan.actions {
            if let Action::Event(emit) = action {
                self.emit(set, emit).await;
            }
        }
        let unlisted = &plan.progress.unlisted;
        self.remembered(set, |memory| memory.remember_unlisted(unlisted));
        written
    }

    async fn write_report(&self, set: &Set, view: &SetView, plan: &Plan) -> Result<Written, ReconcileError> {
        let rollouts: Api<ClaimRollout> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let seen = self.report_of(set);
        let outcome = status::ensure(&rollouts, set, &plan.progress, seen).await;
        let (rollout, _) = self.reported(set, outcome)?;
        self.keep(set, view, plan, &rollout).await?;
        let last = self.remembered(set, |memory| memory.reported_at).flatten();
        let outcome = status::write(&rollouts, &plan.progress, rollout, last, (self.clock)()).await;
        let (_, written) = self.reported(set, outcome)?;
        Ok(written)
    }

    /// What came of a write of the ClaimRollout.
    fn reported(
        &self,
        set: &Set,
        outcome: Outcome<(Arc<ClaimRollout>, Written)>,
    ) -> Result<(Arc<ClaimRollout>, Written), ReconcileError> {
        let label = outcome.as_str();
        match outcome {
            Outcome::Done((rollout, Written::Something)) => {
                self.metrics.report_write(label);
                let now = (self.clock)();
                self.remember(set, |memory| memory.reported(Arc::clone(&rollout), now));
                Ok((rollout, Written::Something))
            }
            Outcome::Done(unwritten) => Ok(unwritten),
            other => {
                self.metrics.report_write(label);
                self.remember(set, Memory::report_failed);
                Err(failed("ClaimRollout", other))
            }
        }
    }

    /// Keeps a new wish in the history. Refused, it is logged and the rollout goes on: nothing depends on it. Where another
    /// object has its name, as the wish of a ClaimRollout that was deleted until the garbage collector comes, it is tried again.
    async fn keep(&self, set: &Set, view: &SetView, plan: &Plan, rollout: &ClaimRollout) -> Result<(), ReconcileError> {
        let unkept = self.remembered(set, |memory| memory.unkept).unwrap_or_default();
        let is_due = |change: &&StagedChange| unkept > 0 || history::is_due(rollout, &change.revision());
        let change = target(view, &self.settings).filter(is_due);
        let Some(change) = change.filter(|_| !plan.halted) else {
            return Ok(());
        };
        let current = &plan.progress.current_revision;
        let outcomes = match history::keep(&self.client, set, rollout, change, current).await {
            Outcome::Done(outcomes) => outcomes,
            other => vec![other.and_then(|_| Outcome::Done(()))],
        };
        let unkept = history::unkept(&outcomes, unkept);
        self.remember(set, |memory| memory.unkept = unkept);
        for outcome in outcomes {
            self.metrics.history_write(outcome.as_str());
            match outcome {
                Outcome::Done(()) => {}
                Outcome::Unsure { .. } => return Err(failed("ControllerRevision", outcome)),
                other => {
                    let (namespace, set) = (set.namespace(), set.name_any());
                    tracing::warn!(namespace, set, outcome = ?other, "the history was not written");
                }
            }
        }
        Ok(())
    }

    pub(super) async fn emit(&self, set: &Set, emit: &EventNotice) {
        events::publish(&self.client, &self.metrics, self.clock, set, emit).await;
    }
}

/// A report that was not written is written at the next look.
fn failed<T>(what: &'static str, outcome: Outcome<T>) -> ReconcileError {
    let label = outcome.as_str();
    let (why, retry_after) = match outcome {
        Outcome::Refused { message, .. } => (message, None),
        Outcome::Unsure { why, retry_after } => (why, retry_after),
        _ => (label.to_owned(), None),
    };
    ReconcileError::Write { what, why, retry_after }
}

/// Says that the report is missing.
fn unreported(set: &Set, message: String) -> EventNotice {
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: None,
        reason: Reason::ClaimRolloutNotWritten,
        message,
    }
}

/// Says that a claim was brought to the wish.
pub(super) fn updated(set: &Set, apply: &ApplyClaim) -> EventNotice {
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
            apply.revision,
            Quantity::to_string(&apply.storage),
            taken_back.unwrap_or_default(),
            class.unwrap_or_default()
        ),
    }
}
