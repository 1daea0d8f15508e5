//! What is asked of the cluster for the update policy `ReCreate`, and the answers: evictions by dry run, and
//! VolumeSnapshots.

use std::collections::BTreeMap;

use super::time::Seconds;
use crate::claims::Claim;
use crate::templates::Revision;

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
}

/// The answers so far, all of them from now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReCreateAnswers {
    /// Whether the Pod of this uid may be evicted.
    pub eviction: Option<(String, EvictionAnswer)>,
    /// The VolumeSnapshots, by name.
    pub volume_snapshots: BTreeMap<String, VolumeSnapshotAnswer>,
    /// Why the last write was denied, and when it is retried.
    pub denied: Option<(String, Seconds)>,
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
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `status.readyToUse`
    pub is_ready: bool,
    /// `status.error.message`
    pub error: Option<String>,
}

/// The name of the VolumeSnapshot of a PVC: another PVC of the same name has another one.
#[must_use]
pub fn name(claim: &Claim, revision: &Revision) -> String {
    format!("{}-{revision}", claim.uid)
}
