//! What is asked of the cluster for the update policy `ReCreate`, and the answers: evictions by dry run, and
//! VolumeSnapshots.

use std::collections::BTreeMap;

use crate::api::Seconds;

/// What has to be read before the next step is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReCreateQuestion {
    /// Whether this Pod may be evicted, by dry run.
    Eviction {
        /// The name of the Pod.
        pod: String,
        /// The uid of the Pod.
        uid: String,
    },
    /// The VolumeSnapshot of this name.
    VolumeSnapshot(String),
    /// The Pods and PVCs of the set as they are now. A watch may be a minute late, and what follows cannot be undone.
    Live,
}

/// The answers so far, all of them from now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReCreateAnswers {
    /// Whether the Pod of this uid may be evicted.
    pub eviction: Option<(String, EvictionAnswer)>,
    /// The VolumeSnapshots, by name.
    pub volume_snapshots: BTreeMap<String, VolumeSnapshotAnswer>,
    /// Whether the Pods and PVCs of the snapshot are those of now, or why they could not be read.
    pub live: Option<Result<(), String>>,
    /// Why the last write was denied, and when it is retried.
    pub denied: Option<(String, Seconds)>,
}

impl ReCreateAnswers {
    /// Why the last write was denied, if it is not retried yet.
    #[must_use]
    pub fn denied_now(&self, now: Seconds) -> Option<&(String, Seconds)> {
        self.denied.as_ref().filter(|(_, retry_at)| *retry_at > now)
    }
}

/// Whether a Pod may be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionAnswer {
    /// The eviction would succeed.
    Allowed,
    /// Not now: a PodDisruptionBudget, or the API server does not respond.
    NotNow(String),
    /// Not until somebody acts: a right is missing.
    Denied(String),
}

/// A VolumeSnapshot, if it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeSnapshotAnswer {
    /// There is none of this name.
    Absent,
    /// It exists.
    Found(VolumeSnapshot),
    /// It cannot be read.
    Unreadable(String),
}

/// A VolumeSnapshot (`snapshot.storage.k8s.io/v1`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeSnapshot {
    /// `spec.source.persistentVolumeClaimName`
    pub claim: String,
    /// `spec.volumeSnapshotClassName`
    pub class: Option<String>,
    /// `status.creationTime`: when it was taken.
    pub taken: Option<Seconds>,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `status.readyToUse`
    pub is_ready: bool,
    /// `status.error.message`
    pub error: Option<String>,
}
