//! Executes the steps of the update policy `ReCreate`.

use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch};
use serde_json::{Value, json};

use super::writer::Writer;
use crate::api::ApiOutcome;
use crate::claims::Claim;
use crate::controller::calls::api_calls;
use crate::controller::calls::error::ReconcileError;
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::set::SlimSet;
use crate::controller::observe::questions::{explained, volume_snapshots};
use crate::controller::report::events;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome};
use crate::rollout::{ClaimOf, EventNotice, Reason, TakeSnapshot};
use crate::templates::keys;

/// Creates a VolumeSnapshot.
pub(super) async fn take_snapshot(
    writer: &Writer,
    set: &SlimSet,
    take: &TakeSnapshot,
) -> Result<RoundOutcome, ReconcileError> {
    let snapshots = volume_snapshots(&writer.caller.client, &set.namespace().unwrap_or_default());
    let step = ReCreateStep {
        what: "create VolumeSnapshot of",
        of: &take.of,
        snapshot: &take.name,
    };
    let sent: DynamicObject = match serde_json::from_value(volume_snapshot(take)) {
        Ok(sent) => sent,
        Err(error) => return step_answered(writer, set, &step, ApiOutcome::denied("", error.to_string())),
    };
    let outcome = api_calls::call(snapshots.create(&api_calls::post(), &sent)).await;
    log_step(set, &take.of, "create VolumeSnapshot", outcome.as_str());
    let outcome = match outcome {
        ApiOutcome::NotFound(_) => {
            let message = "the cluster has no VolumeSnapshots (snapshot.storage.k8s.io/v1)";
            ApiOutcome::denied("", message.to_owned())
        }
        // After a conflict: another controller has created it, and the next question finds it.
        outcome => outcome.and_then(|_| ApiOutcome::Done(None)),
    };
    step_answered(writer, set, &step, outcome)
}

/// Marks a PVC before it is deleted, or removes the mark.
pub(super) async fn mark_claim(
    writer: &Writer,
    set: &SlimSet,
    claim: &ClaimOf,
    is_marked: bool,
) -> Result<RoundOutcome, ReconcileError> {
    let claims: Api<SlimClaim> = writer.caller.namespaced(&set.namespace().unwrap_or_default());
    let body = mark(claim, is_marked);
    let outcome = api_calls::call(claims.patch(&claim.name, &api_calls::merge(), &Patch::Merge(&body))).await;
    let what = if is_marked {
        "mark PVC"
    } else {
        "remove the mark of PVC"
    };
    log_step(set, claim, what, outcome.as_str());
    step_answered(writer, set, &ReCreateStep::of(what, claim), outcome.and_then(stored))
}

/// Deletes a PVC, unless it has changed since it was read. Kubernetes keeps it while its Pod runs.
pub(crate) async fn delete_claim(
    writer: &Writer,
    set: &SlimSet,
    claim: &ClaimOf,
) -> Result<RoundOutcome, ReconcileError> {
    let claims: Api<SlimClaim> = writer.caller.namespaced(&set.namespace().unwrap_or_default());
    let outcome = api_calls::call(claims.delete(&claim.name, &delete(claim))).await;
    log_step(set, claim, "delete PVC", outcome.as_str());
    let outcome = match outcome {
        ApiOutcome::Done(reply) => {
            let left = reply.left();
            let is_going = |left: &SlimClaim| left.read.as_ref().is_ok_and(|left| left.terminating);
            if left.as_ref().is_none_or(is_going) {
                events::emit(&writer.caller, set, &deleted(set, claim)).await;
            }
            // No Pod used it, and the watch will show that it does not exist; or it is not deleted.
            left.filter(is_going).map_or_else(changed, stored)
        }
        outcome => outcome.and_then(|_| changed()),
    };
    step_answered(writer, set, &ReCreateStep::of("delete", claim), outcome)
}

/// Hands the outcome of a step to the memory of the set. The message of a missing right contains where to get it.
fn step_answered(
    writer: &Writer,
    set: &SlimSet,
    step: &ReCreateStep<'_>,
    outcome: ApiOutcome<Option<Claim>>,
) -> Result<RoundOutcome, ReconcileError> {
    let outcome = match outcome {
        ApiOutcome::Denied { cause, message, stored } => ApiOutcome::Denied {
            message: explained(&cause, message),
            cause,
            stored,
        },
        outcome => outcome,
    };
    let attempt = AttemptedWrite::Step {
        write: step.key(),
        of: &step.of.uid,
        failed: format!("failed to {} {}", step.what, step.of.name),
    };
    writer.answered(set, "PVC", &attempt, outcome)
}

/// A step, and what it was decided for.
struct ReCreateStep<'s> {
    what: &'static str,
    of: &'s ClaimOf,
    /// The name of the VolumeSnapshot that is created.
    snapshot: &'s str,
}

impl<'s> ReCreateStep<'s> {
    fn of(what: &'static str, of: &'s ClaimOf) -> Self {
        Self { what, of, snapshot: "" }
    }

    fn key(&self) -> String {
        let Self { what, of, snapshot } = self;
        format!("{what} {} {} {snapshot}", of.uid, of.resource_version)
    }
}

/// The PVC that was stored; one that cannot be read counts as changed.
fn stored(reply: SlimClaim) -> ApiOutcome<Option<Claim>> {
    reply
        .read
        .map_or_else(|_| changed(), |claim| ApiOutcome::Done(Some(claim)))
}

/// What is there now is not known.
fn changed<T>() -> ApiOutcome<T> {
    ApiOutcome::Conflict(String::new())
}

fn log_step(set: &SlimSet, claim: &ClaimOf, what: &str, outcome: &str) {
    let (namespace, label) = (set.namespace(), claim.label.to_string());
    tracing::info!(
        namespace,
        set = set.name_any(),
        claim = claim.name,
        uid = claim.uid,
        label,
        outcome,
        "{what}"
    );
}

/// The body of the patch that marks a PVC, or removes the mark.
fn mark(claim: &ClaimOf, is_marked: bool) -> Value {
    let mark = is_marked.then(|| claim.label.to_string());
    json!({"metadata": {
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
        "annotations": {keys::RECREATED_FOR: mark},
    }})
}

/// The options of the deletion of a PVC.
fn delete(claim: &ClaimOf) -> DeleteParams {
    api_calls::deletion(Some(&claim.uid), Some(&claim.resource_version))
}

/// The VolumeSnapshot of a PVC.
fn volume_snapshot(take: &TakeSnapshot) -> Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {
            "name": take.name,
            "labels": {keys::REVISION: take.of.label.revision.as_str()},
            "annotations": {keys::SNAPSHOT_SET: take.set, keys::SNAPSHOT_CLAIM: take.of.name},
        },
        "spec": {
            "volumeSnapshotClassName": take.class,
            "source": {"persistentVolumeClaimName": take.of.name},
        },
    })
}

fn deleted(set: &SlimSet, claim: &ClaimOf) -> EventNotice {
    let snapshot = claim.snapshot.as_ref().map(|snapshot| format!("; {snapshot}"));
    let snapshot = snapshot.unwrap_or_default();
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: Some((claim.name.clone(), claim.uid.clone())),
        reason: Reason::ClaimDeleted,
        message: format!(
            "deleted {} ({}), so that it is created anew at revision {}{snapshot}",
            claim.name, claim.uid, claim.label.revision
        ),
    }
}

#[cfg(test)]
#[path = "recreate_tests.rs"]
mod tests;
