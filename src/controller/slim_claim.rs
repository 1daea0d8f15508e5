//! PersistentVolumeClaims reduced to the fields that are read.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::read::managers::{self, FieldsEntry};
use super::read::metadata;
use super::slim_set::owner;
use crate::claims;
use crate::claims::claim::{ClaimError, Manager};
use crate::json::{self, Map, Reader};
use crate::templates::keys;
use crate::templates::template::CLASS_ANNOTATION;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(from = "SentClaim")]
pub(super) struct SlimClaim {
    /// The identity, and the annotation with the times of modifications.
    pub(super) metadata: ObjectMeta,
    /// The PVC as the decisions read it. Neither an invalid PVC nor one with strange managed fields makes the whole list
    /// fail.
    pub(super) read: Result<claims::Claim, ClaimError>,
}

/// The reply to an apply of a PersistentVolumeClaim, with labels and annotations.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(from = "SentClaim")]
pub(super) struct Applied {
    pub(super) metadata: ObjectMeta,
    pub(super) read: Result<claims::Claim, ClaimError>,
}

/// A PersistentVolumeClaim as the API server sends it.
#[derive(Deserialize)]
struct SentClaim {
    metadata: metadata::Sent<Box<RawValue>>,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

impl From<SentClaim> for SlimClaim {
    fn from(sent: SentClaim) -> Self {
        let Applied { metadata, read } = sent.into();
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| key == keys::MODIFIED);
        let metadata = ObjectMeta {
            annotations: (!annotations.is_empty()).then_some(annotations),
            labels: None,
            ..metadata
        };
        Self { metadata, read }
    }
}

impl From<SentClaim> for Applied {
    fn from(sent: SentClaim) -> Self {
        let (metadata, managed_fields) = sent.metadata.split();
        let managers = managers(managed_fields.as_deref());
        let read = read(
            metadata.clone(),
            &managers,
            sent.spec.as_deref(),
            sent.status.as_deref(),
        );
        let metadata = ObjectMeta {
            labels: metadata.labels,
            annotations: metadata.annotations,
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        Self { metadata, read }
    }
}

fn read(
    metadata: ObjectMeta,
    managers: &[Manager],
    spec: Option<&RawValue>,
    status: Option<&RawValue>,
) -> Result<claims::Claim, ClaimError> {
    let owners = metadata.owner_references.unwrap_or_default();
    let mut annotations = metadata.annotations.unwrap_or_default();
    let mut claim = claims::Claim {
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        labels: Map::from_unsorted(metadata.labels.into_iter().flatten().collect()).unwrap_or_default(),
        owners: owners.into_iter().map(owner).collect(),
        terminating: metadata.deletion_timestamp.is_some(),
        created: metadata.creation_timestamp.as_ref().map_or(0, seconds),
        deleted: metadata.deletion_timestamp.as_ref().map(seconds),
        finalizers: metadata.finalizers.unwrap_or_default(),
        recreated_for: annotations.remove(keys::RECREATED_FOR),
        class_annotation: annotations.remove(CLASS_ANNOTATION),
        ..claims::Claim::default()
    };
    claim.managed_by(managers);
    if let Some(spec) = spec {
        claim.ask(Some(json::read(spec.get())?))?;
    }
    if let Some(status) = status {
        claim.read_status(&mut Reader::new(status.get()))?;
    }
    Ok(claim)
}

fn seconds(time: &Time) -> u64 {
    u64::try_from(time.0.as_second()).unwrap_or_default()
}

fn managers(managed_fields: Option<&RawValue>) -> Vec<Manager> {
    let manager = |entry: FieldsEntry| Manager {
        size: entry.owns_size(),
        class: entry.owns_class(),
        is_us: Manager::is_us(entry.manager.as_deref(), entry.operation.as_deref()),
    };
    managers::entries(managed_fields).into_iter().map(manager).collect()
}
