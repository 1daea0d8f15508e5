//! Answers what the decisions about `ReCreate` ask for. Nothing is cached: what follows cannot be undone.

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use super::live::read_live;
use crate::api::{ApiOutcome, time};
use crate::controller::calls::api_calls;
use crate::controller::calls::eviction::post_eviction;
use crate::rollout::Snapshot;
use crate::rollout::volume_snapshot::{EvictionAnswer, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::templates::MaxInMotion;

/// Where to get missing rights.
const RIGHTS: &str = "the rights are in deploy/recreate.yaml (chart: features.reCreate)";

/// Answers a question of the decision.
pub(crate) async fn answer(
    client: &Client,
    max_in_motion: MaxInMotion,
    question: &ReCreateQuestion,
    snapshot: &mut Snapshot,
) {
    let namespace = snapshot.set.namespace.clone();
    let answers = &mut snapshot.recreate;
    match question {
        ReCreateQuestion::Eviction { pod, uid } => {
            let outcome = post_eviction(client, &namespace, [pod, uid], true).await;
            let answer = match outcome {
                ApiOutcome::Done(()) => EvictionAnswer::Allowed,
                ApiOutcome::Conflict(_) | ApiOutcome::NotFound(_) => {
                    EvictionAnswer::NotNow("the Pod has changed".to_owned())
                }
                ApiOutcome::Unsure { why, .. } => EvictionAnswer::NotNow(why),
                ApiOutcome::Denied { cause, message, .. } => EvictionAnswer::Denied(explained(&cause, message)),
            };
            answers.eviction = Some((uid.clone(), answer));
        }
        ReCreateQuestion::VolumeSnapshot(name) => {
            let answer = match api_calls::call(volume_snapshots(client, &namespace).get(name)).await {
                ApiOutcome::Done(found) => VolumeSnapshotAnswer::Found(view(&found)),
                ApiOutcome::Conflict(_) | ApiOutcome::NotFound(_) => VolumeSnapshotAnswer::Absent,
                ApiOutcome::Unsure { why, .. } => VolumeSnapshotAnswer::Unreadable(why),
                ApiOutcome::Denied { cause, message, .. } => {
                    VolumeSnapshotAnswer::Unreadable(explained(&cause, message))
                }
            };
            answers.volume_snapshots.insert(name.clone(), answer);
        }
        ReCreateQuestion::Live => {
            let read = read_live(client, max_in_motion, snapshot).await;
            snapshot.recreate.live = Some(read);
        }
    }
}

/// The VolumeSnapshots of a namespace.
pub(crate) fn volume_snapshots(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("snapshot.storage.k8s.io", "v1", "VolumeSnapshot");
    let resource = ApiResource::from_gvk_with_plural(&kind, "volumesnapshots");
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// The message of a denial; of a missing right, with the place where to get it.
pub(crate) fn explained(cause: &str, message: String) -> String {
    if cause == "Forbidden" {
        format!("{message}; {RIGHTS}")
    } else {
        message
    }
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

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
