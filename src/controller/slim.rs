//! The watched objects, with the fields that are read and no others: what is not here is never decoded into memory.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod as CorePod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::claims::claim::{ClaimError, Manager};
use crate::claims::{self, Owner};
use crate::json::{self, Map, Reader};
use crate::templates::{ClaimTemplate, TemplateError, keys};

/// The label of a Pod that names its revision.
pub(super) const POD_REVISION: &str = "controller-revision-hash";

/// A StatefulSet.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StatefulSet")]
pub(super) struct Set {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: SetSpec,
    #[serde(default)]
    pub(super) status: SetStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetSpec {
    pub(super) replicas: Option<i32>,
    pub(super) selector: Selector,
    /// As it was sent: a tree of it takes ten times as much, and of most sets it is never looked at.
    pub(super) volume_claim_templates: Option<Box<RawValue>>,
    pub(super) update_strategy: UpdateStrategy,
    pub(super) pod_management_policy: String,
    pub(super) min_ready_seconds: i32,
    pub(super) revision_history_limit: Option<i32>,
    pub(super) ordinals: Ordinals,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Selector {
    pub(super) match_labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UpdateStrategy {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) rolling_update: RollingUpdate,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RollingUpdate {
    pub(super) partition: i32,
    /// Whether there is one; what it is does not matter.
    pub(super) max_unavailable: Option<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Ordinals {
    pub(super) start: i32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SetStatus {
    pub(super) observed_generation: i64,
    pub(super) update_revision: String,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(from = "SentClaim")]
pub(super) struct Claim {
    /// What it is found by; the rest has been read.
    pub(super) metadata: ObjectMeta,
    /// What the decisions read of it. One that cannot be read is a fault of that claim, not of the list that it came in.
    pub(super) read: Result<claims::Claim, ClaimError>,
}

/// A PersistentVolumeClaim as an apply of it is answered: with its labels and annotations.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(from = "SentClaim")]
pub(super) struct Applied {
    pub(super) metadata: ObjectMeta,
    pub(super) read: Result<claims::Claim, ClaimError>,
}

/// The same as it is sent.
#[derive(Deserialize)]
struct SentClaim {
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

/// A Pod.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "CorePod")]
pub(super) struct Pod {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: PodSpec,
    #[serde(default)]
    pub(super) status: PodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodSpec {
    pub(super) volumes: Vec<Volume>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Volume {
    pub(super) persistent_volume_claim: Option<VolumeClaim>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct VolumeClaim {
    pub(super) claim_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    pub(super) phase: String,
    pub(super) conditions: Vec<PodCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodCondition {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
    pub(super) message: String,
    pub(super) last_transition_time: Option<Time>,
}

impl Set {
    /// Drops the metadata that is not read.
    pub(super) fn trim(&mut self) {
        let metadata = &mut self.metadata;
        metadata.managed_fields = None;
        metadata.labels = None;
        if let Some(annotations) = &mut metadata.annotations {
            annotations.retain(|key, _| key.starts_with(keys::PREFIX));
        }
        metadata.annotations = metadata
            .annotations
            .take()
            .filter(|annotations| !annotations.is_empty());
    }

    /// The value of one of our annotations.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// The live templates.
    ///
    /// # Errors
    /// [`TemplateError`] if they cannot be read.
    pub(super) fn templates(&self) -> Result<Vec<ClaimTemplate>, TemplateError> {
        let text = self
            .spec
            .volume_claim_templates
            .as_ref()
            .map_or("null", |text| text.get());
        ClaimTemplate::list_from_value(json::read(text)?)
    }

    /// The names of the live templates; none if they cannot be read.
    pub(super) fn template_names(&self) -> Vec<String> {
        let templates = self.templates().unwrap_or_default();
        templates.into_iter().map(|template| template.name).collect()
    }
}

impl From<SentClaim> for Claim {
    fn from(mut sent: SentClaim) -> Self {
        let read = sent.read();
        let metadata = ObjectMeta {
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
        let Claim { metadata, read } = sent.into();
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

/// One entry of `metadata.ownerReferences`.
pub(super) fn owner(reference: OwnerReference) -> Owner {
    Owner {
        controller: reference.controller == Some(true),
        block_owner_deletion: reference.block_owner_deletion == Some(true),
        api_version: reference.api_version,
        kind: reference.kind,
        name: reference.name,
        uid: reference.uid,
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

impl Pod {
    /// The names of the claims that it mounts.
    pub(super) fn claims(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        claims.map(|claim| claim.claim_name.as_str())
    }

    /// Drops the metadata that is not read.
    pub(super) fn trim(&mut self) {
        let metadata = &mut self.metadata;
        metadata.managed_fields = None;
        metadata.annotations = None;
        if let Some(labels) = &mut metadata.labels {
            labels.retain(|key, _| key == POD_REVISION);
        }
        let read = ["Ready", "PodScheduled"];
        self.status
            .conditions
            .retain(|condition| read.contains(&condition.type_.as_str()));
    }
}
