//! Reports a rollout: ClaimRollout, history, Events.

use std::sync::{Arc, Mutex};

use kube::ResourceExt;
use kube::api::Api;

use super::last_reports::{LastReports, content};
use super::{events, history, status};
use crate::api::{ApiOutcome, Settings};
use crate::controller::calls::caller::Caller;
use crate::controller::calls::error::{HISTORY, ReconcileError};
use crate::controller::crd::ClaimRollout;
use crate::controller::locking::lock;
use crate::controller::memory::memories::{Memories, RolloutMemory};
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set::SlimSet;
use crate::gate::SetView;
use crate::rollout::history::target;
use crate::rollout::machine::ReportWrite;
use crate::rollout::{Action, ApplyClaim, EventNotice, Plan, Reason};
use crate::templates::{Quantity, StagedChange};

/// Reports what a plan contains.
pub(crate) struct Reporter {
    pub(crate) caller: Caller,
    pub(crate) memories: Arc<Memories>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) last_reports: Mutex<LastReports>,
}

impl Reporter {
    /// Writes the progress of a plan to the ClaimRollout, of which this is the last known one, and emits the Events of the
    /// plan. Returns whether a part of the progress is to be written later.
    ///
    /// If the ClaimRollout cannot be written, an Event reports the error; the Events of the plan are emitted anyway.
    pub(crate) async fn report(
        &self,
        set: &SlimSet,
        view: &SetView,
        plan: &Plan,
        last: Option<Arc<ClaimRollout>>,
    ) -> Result<ReportWrite, ReconcileError> {
        let written = self.write_report(set, view, plan, last).await;
        if let Err(error) = &written {
            let message = format!("{error}; the rollout goes on");
            let notice = EventNotice::of_set(set.uid().unwrap_or_default(), Reason::ClaimRolloutNotWritten, message);
            events::emit(&self.caller, set, &notice).await;
        }
        for action in &plan.actions {
            if let Action::Event(notice) = action {
                events::emit(&self.caller, set, notice).await;
            }
        }
        let early = self.memories.remembered(set, |memory| {
            let (early, waiting) = plan.early_pods.after(&memory.waiting_pods);
            memory.waiting_pods = waiting;
            early
        });
        for notice in early.iter().flatten() {
            events::emit(&self.caller, set, notice).await;
        }
        let unlisted = &plan.progress.unlisted;
        self.memories
            .remembered(set, |memory| memory.remember_unlisted(unlisted));
        written
    }

    async fn write_report(
        &self,
        set: &SlimSet,
        view: &SetView,
        plan: &Plan,
        last: Option<Arc<ClaimRollout>>,
    ) -> Result<ReportWrite, ReconcileError> {
        let rollouts: Api<SlimRollout> = self.caller.namespaced(&set.namespace().unwrap_or_default());
        let (uid, now) = (set.uid().unwrap_or_default(), self.caller.now());
        let spec = status::spec(set, &plan.progress, self.settings.default_replace_set);
        let content = content(&spec, &plan.progress);
        let restores = lock(&self.last_reports).restores(&uid, content, now);
        let outcome = status::ensure(&rollouts, set, spec, last, restores).await;
        let (rollout, of_spec) = self.reported(set, outcome)?;
        if of_spec == ReportWrite::Later {
            return Ok(of_spec);
        }
        let kept = self.keep(set, view, plan, &rollout).await;
        let last = status::Last {
            at: self.memories.remembered(set, |memory| memory.reported_at).flatten(),
            restores,
        };
        let outcome = status::write(&rollouts, &plan.progress, rollout, last, now).await;
        let (_, written) = self.reported(set, outcome)?;
        if [of_spec, written].contains(&ReportWrite::Something) {
            lock(&self.last_reports).note(&uid, content, now);
        }
        if written != ReportWrite::Later && !plan.settled {
            self.memories
                .remember(set, |memory| memory.milestones = plan.progress.milestones.clone());
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
                self.caller.metrics.report_write(label);
                let now = self.caller.now();
                self.memories
                    .remember(set, |memory| memory.reported(Arc::clone(&rollout), now));
                Ok((rollout, ReportWrite::Something))
            }
            ApiOutcome::Done(unwritten) => Ok(unwritten),
            other => {
                self.caller.metrics.report_write(label);
                self.memories.remember(set, RolloutMemory::report_failed);
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
        let unkept = self
            .memories
            .remembered(set, |memory| memory.unkept)
            .unwrap_or_default();
        let is_due = |change: &&StagedChange| unkept > 0 || history::is_due(rollout, &change.label());
        let change = target(view, &self.settings).filter(is_due);
        let Some(change) = change.filter(|_| !plan.halted) else {
            return Ok(());
        };
        let current = &plan.progress.current_revision;
        let outcomes = match history::keep(&self.caller.client, set, rollout, change, current).await {
            ApiOutcome::Done(outcomes) => outcomes,
            other => vec![other.and_then(|_| ApiOutcome::Done(()))],
        };
        let unkept = history::unkept(&outcomes, unkept);
        self.memories.remember(set, |memory| memory.unkept = unkept);
        for outcome in outcomes {
            self.caller.metrics.history_write(outcome.as_str());
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
}

/// The error of a failed report. The next reconcile writes the report again.
fn failed<T>(what: &'static str, outcome: ApiOutcome<T>) -> ReconcileError {
    let retry_after = match &outcome {
        ApiOutcome::Unsure { retry_after, .. } => *retry_after,
        _ => None,
    };
    let why = outcome.why();
    ReconcileError::Write { what, why, retry_after }
}

/// The Event for a PVC that was updated.
pub(crate) fn updated(set: &SlimSet, apply: &ApplyClaim) -> EventNotice {
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
