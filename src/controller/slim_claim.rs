//! PersistentVolumeClaims reduced to the fields that are read.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta};
use kube::Resource;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::slim_set::owner;
use crate::claims;
use crate::claims::claim::{ClaimError, Manager};
use crate::json::{self, Map, Reader};
use crate::templates::keys;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(from = "SentClaim")]
pub(super) struct SlimClaim {
    /// The identity, and the annotation with the times of modifications.
    pub(super) metadata: ObjectMeta,
    /// The PVC as the decisions read it. An invalid PVC does not make the whole list fail.
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
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

impl From<SentClaim> for SlimClaim {
    fn from(mut sent: SentClaim) -> Self {
        let read = sent.read();
        let mut annotations = sent.metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| key == keys::MODIFIED);
        let metadata = ObjectMeta {
            annotations: (!annotations.is_empty()).then_some(annotations),
            name: sent.metadata.name,
            namespace: sent.metadata.namespace,
            uid: sent.metadata.uid,
            resource_version: sent.metadata.resource_version,
            ..ObjectMeta::default()
        };
        Self { metadata, read }
    }
}

impl From<SentClaim> for Applied {
    fn from(sent: SentClaim) -> Self {
        let (labels, annotations) = (sent.metadata.labels.clone(), sent.metadata.annotations.clone());
        let SlimClaim { metadata, read } = sent.into();
        let metadata = ObjectMeta {
            labels,
            annotations,
            ..metadata
        };
        Self { metadata, read }
    }
}

impl SentClaim {
    fn read(&mut self) -> Result<claims::Claim, ClaimError> {
        let metadata = &mut self.metadata;
        let entries = metadata.managed_fields.take().unwrap_or_default();
        let managers: Vec<Manager> = entries.iter().map(manager).collect();
        let labels = metadata.labels.take().unwrap_or_default();
        let owners = metadata.owner_references.take().unwrap_or_default();
        let mut claim = claims::Claim {
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            labels: Map::from_unsorted(labels.into_iter().collect()).unwrap_or_default(),
            owners: owners.into_iter().map(owner).collect(),
            terminating: metadata.deletion_timestamp.is_some(),
            created: metadata
                .creation_timestamp
                .as_ref()
                .and_then(|time| u64::try_from(time.0.as_second()).ok())
                .unwrap_or_default(),
            ..claims::Claim::default()
        };
        claim.managed_by(&managers);
        if let Some(spec) = &self.spec {
            claim.ask(Some(json::read(spec.get())?))?;
        }
        if let Some(status) = &self.status {
            claim.read_status(&mut Reader::new(status.get()))?;
        }
        Ok(claim)
    }
}

fn owns(entry: &ManagedFieldsEntry, field: &str) -> bool {
    let fields = entry.fields_v1.as_ref();
    fields.is_some_and(|FieldsV1(fields)| fields.pointer(field).is_some())
}

fn manager(entry: &ManagedFieldsEntry) -> Manager {
    Manager {
        size: owns(entry, "/f:spec/f:resources/f:requests/f:storage"),
        class: owns(entry, "/f:spec/f:volumeAttributesClassName"),
        is_us: Manager::is_us(entry.manager.as_deref(), entry.operation.as_deref()),
    }
}
