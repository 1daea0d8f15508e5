//! Executes the steps of the update policy `ReCreate`, and reads what its decisions ask for.

use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PostParams, Preconditions};
use serde_json::{Value, json};

use super::api_calls;
use super::api_calls::ApiOutcome;
use super::context::Context;
use super::error::ReconcileError;
use super::slim_claim::Applied;
use super::slim_set::SlimSet;
use crate::api::time;
use crate::claims::Claim;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome};
use crate::rollout::volume_snapshot::{EvictionAnswer, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::rollout::{ClaimOf, EventNotice, Reason, Snapshot, TakeSnapshot};
use crate::templates::keys;

/// Where to get missing rights.
const RIGHTS: &str = "the rights are in deploy/recreate.yaml (chart: features.reCreate)";

impl Context {
    /// Answers a question of the decision. Nothing is cached: what follows cannot be undone.
    pub(super) async fn answer(&self, set: &SlimSet, question: &ReCreateQuestion, snapshot: &mut Snapshot) {
        let namespace = set.namespace().unwrap_or_default();
        let answers = &mut snapshot.recreate;
        match question {
            ReCreateQuestion::Eviction { pod, uid } => {
                let outcome = self.post_eviction(&namespace, [pod, uid], true).await;
                let answer = match outcome {
                    ApiOutcome::Done(()) => EvictionAnswer::Allowed,
                    ApiOutcome::Conflict | ApiOutcome::NotFound => {
                        EvictionAnswer::NotNow("the Pod has changed".to_owned())
                    }
                    ApiOutcome::Unsure { why, .. } => EvictionAnswer::NotNow(why),
                    ApiOutcome::Denied { cause, message, .. } => EvictionAnswer::Denied(explained(&cause, message)),
                };
                answers.eviction = Some((uid.clone(), answer));
            }
            ReCreateQuestion::VolumeSnapshot(name) => {
                let answer = match api_calls::call(self.volume_snapshots(&namespace).get(name)).await {
                    ApiOutcome::Done(found) => VolumeSnapshotAnswer::Found(view(&found)),
                    ApiOutcome::Conflict | ApiOutcome::NotFound => VolumeSnapshotAnswer::Absent,
                    ApiOutcome::Unsure { why, .. } => VolumeSnapshotAnswer::Unreadable(why),
                    ApiOutcome::Denied { cause, message, .. } => {
                        VolumeSnapshotAnswer::Unreadable(explained(&cause, message))
                    }
                };
                answers.volume_snapshots.insert(name.clone(), answer);
            }
            ReCreateQuestion::Live => {
                let read = self.read_live(snapshot).await;
                snapshot.recreate.live = Some(read);
            }
        }
    }

    /// Creates a VolumeSnapshot.
    pub(super) async fn take_snapshot(
        &self,
        set: &SlimSet,
        take: &TakeSnapshot,
    ) -> Result<RoundOutcome, ReconcileError> {
        let snapshots = self.volume_snapshots(&set.namespace().unwrap_or_default());
        let step = ReCreateStep {
            what: "create VolumeSnapshot of",
            of: &take.of,
            snapshot: &take.name,
        };
        let sent: DynamicObject = match serde_json::from_value(volume_snapshot(take)) {
            Ok(sent) => sent,
            Err(error) => return self.step_answered(set, &step, denied(error.to_string())),
        };
        let post = PostParams {
            field_manager: Some(super::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let outcome = api_calls::call(snapshots.create(&post, &sent)).await;
        log_step(set, &take.of, "create VolumeSnapshot", outcome.as_str());
        let outcome = match outcome {
            ApiOutcome::NotFound => {
                denied("the cluster has no VolumeSnapshots (snapshot.storage.k8s.io/v1)".to_owned())
            }
            // After a conflict: another controller has created it, and the next question finds it.
            outcome => outcome.and_then(|_| ApiOutcome::Done(None)),
        };
        self.step_answered(set, &step, outcome)
    }

    /// Marks a PVC before it is deleted, or removes the mark.
    pub(super) async fn mark_claim(
        &self,
        set: &SlimSet,
        claim: &ClaimOf,
        is_marked: bool,
    ) -> Result<RoundOutcome, ReconcileError> {
        let claims: Api<Applied> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let body = mark(claim, is_marked);
        let outcome = api_calls::call(claims.patch(&claim.name, &api_calls::merge(), &Patch::Merge(&body))).await;
        let what = if is_marked {
            "mark PVC"
        } else {
            "remove the mark of PVC"
        };
        log_step(set, claim, what, outcome.as_str());
        self.step_answered(set, &ReCreateStep::of(what, claim), outcome.and_then(stored))
    }

    /// Deletes a PVC, unless it has changed since it was read. Kubernetes keeps it while its Pod runs.
    pub(super) async fn delete_claim(&self, set: &SlimSet, claim: &ClaimOf) -> Result<RoundOutcome, ReconcileError> {
        let claims: Api<Applied> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let outcome = api_calls::call(claims.delete(&claim.name, &delete(claim))).await;
        log_step(set, claim, "delete PVC", outcome.as_str());
        let outcome = match outcome {
            ApiOutcome::Done(reply) => {
                let left = reply.left();
                let is_going = |left: &Applied| left.read.as_ref().is_ok_and(|left| left.terminating);
                if left.as_ref().is_none_or(is_going) {
                    self.emit(set, &deleted(set, claim)).await;
                }
                // No Pod used it, and the watch will show that it does not exist; or it is not deleted.
                left.filter(is_going).map_or(ApiOutcome::Conflict, stored)
            }
            outcome => outcome.and_then(|_| ApiOutcome::Conflict),
        };
        self.step_answered(set, &ReCreateStep::of("delete", claim), outcome)
    }

    /// Hands the outcome of a step to the memory of the set. The message of a missing right contains where to get it.
    fn step_answered(
        &self,
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
        self.answered(set, "PVC", &attempt, (outcome, String::new()))
    }

    fn volume_snapshots(&self, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("snapshot.storage.k8s.io", "v1", "VolumeSnapshot");
        let resource = ApiResource::from_gvk_with_plural(&kind, "volumesnapshots");
        Api::namespaced_with(self.client.clone(), namespace, &resource)
    }
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
fn stored(reply: Applied) -> ApiOutcome<Option<Claim>> {
    reply
        .read
        .map_or(ApiOutcome::Conflict, |claim| ApiOutcome::Done(Some(claim)))
}

fn denied<T>(message: String) -> ApiOutcome<T> {
    ApiOutcome::Denied {
        cause: String::new(),
        message,
        stored: None,
    }
}

/// The message of a denial; of a missing right, with the place where to get it.
fn explained(cause: &str, message: String) -> String {
    if cause == "Forbidden" {
        format!("{message}; {RIGHTS}")
    } else {
        message
    }
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
    DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(claim.uid.clone()),
            resource_version: Some(claim.resource_version.clone()),
        }),
        ..DeleteParams::default()
    }
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

fn view(found: &DynamicObject) -> VolumeSnapshot {
    let text = |path: &str| found.data.pointer(path).and_then(Value::as_str).map(str::to_owned);
    VolumeSnapshot {
        claim: text("/spec/source/persistentVolumeClaimName").unwrap_or_default(),
        class: text("/spec/volumeSnapshotClassName"),
        taken: text("/status/creationTime").and_then(|time| time::read(&time)),
        terminating: found.metadata.deletion_timestamp.is_some(),
        is_ready: found.data.pointer("/status/readyToUse") == Some(&Value::Bool(true)),
        error: text("/status/error/message"),
    }
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
#[path = "recreating_tests.rs"]
mod tests;
