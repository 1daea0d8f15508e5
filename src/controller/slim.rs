//! The watched objects, with the fields that are read and no others: what is not here is never decoded into memory.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod as CorePod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::staged_at::staged_at;
use crate::claims::claim::{ClaimError, Manager};
use crate::claims::{self, Owner};
use crate::json::{self, Map, Reader};
use crate::rollout::Seconds;
use crate::rollout::snapshot::{PodManagement, Strategy};
use crate::templates::{ClaimTemplate, TemplateError, keys};

/// The label of a Pod that names its revision.
pub(super) const POD_REVISION: &str = "controller-revision-hash";

/// A StatefulSet. There are thousands: what is read is kept in few bytes, and nothing else of one is ever in memory.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StatefulSet")]
#[serde(from = "SentSet")]
pub(super) struct Set {
    /// What it is found by, its generation, and who owns it.
    pub(super) metadata: ObjectMeta,
    /// Ours, by key.
    annotations: Pairs,
    /// When the change was staged at the latest, where that matters.
    pub(super) staged_at: Option<Seconds>,
    pub(super) spec: SetSpec,
    pub(super) status: SetStatus,
}

/// A map of texts: one of the standard library takes half a kilobyte for the first of them.
pub(super) type Pairs = Box<[(Box<str>, Box<str>)]>;

#[derive(Clone, Debug)]
pub(super) struct SetSpec {
    pub(super) replicas: Option<i32>,
    pub(super) match_labels: Pairs,
    /// As it was sent: a tree of it takes ten times as much, and of most sets it is never looked at.
    pub(super) volume_claim_templates: Option<Box<RawValue>>,
    pub(super) strategy: Strategy,
    pub(super) partition: i32,
    pub(super) has_max_unavailable: bool,
    pub(super) pod_management: PodManagement,
    pub(super) min_ready_seconds: i32,
    pub(super) revision_history_limit: Option<i32>,
    pub(super) first_ordinal: i32,
}

#[derive(Clone, Debug)]
pub(super) struct SetStatus {
    pub(super) observed_generation: i64,
    pub(super) update_revision: Box<str>,
}

/// The same as it is sent.
#[derive(Deserialize)]
struct SentSet {
    metadata: SentMetadata,
    #[serde(default)]
    spec: SentSpec,
    #[serde(default)]
    status: SentStatus,
}

/// No labels, and the managed fields as they were sent: of those alone whole trees would be made.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Time>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    managed_fields: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentSpec {
    replicas: Option<i32>,
    selector: Selector,
    volume_claim_templates: Option<Box<RawValue>>,
    update_strategy: UpdateStrategy,
    pod_management_policy: String,
    min_ready_seconds: i32,
    revision_history_limit: Option<i32>,
    ordinals: Ordinals,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    match_labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UpdateStrategy {
    #[serde(rename = "type")]
    type_: String,
    rolling_update: RollingUpdate,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RollingUpdate {
    partition: i32,
    /// Whether there is one; what it is does not matter.
    max_unavailable: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Ordinals {
    start: i32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentStatus {
    observed_generation: i64,
    update_revision: String,
}

/// A StatefulSet as a write to it is answered.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StatefulSet")]
pub(super) struct Patched {
    pub(super) metadata: ObjectMeta,
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
    /// The value of one of our annotations.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        let mut ours = self.annotations.iter();
        ours.find(|(known, _)| **known == *key).map(|(_, value)| &**value)
    }

    /// Our annotations, by key.
    pub(super) fn annotations(&self) -> &[(Box<str>, Box<str>)] {
        &self.annotations
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

impl From<SentSet> for Set {
    fn from(sent: SentSet) -> Self {
        let SentSet { metadata, spec, status } = sent;
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| key.starts_with(keys::PREFIX));
        let strategy = match &*spec.update_strategy.type_ {
            "RollingUpdate" => Strategy::RollingUpdate,
            "Recreate" => Strategy::Recreate,
            _ => Strategy::OnDelete,
        };
        let staged = annotations.get(keys::STAGED).filter(|_| strategy == Strategy::OnDelete);
        let staged_at = staged.and_then(|staged| staged_at(staged, metadata.managed_fields.as_deref()?));
        Self {
            metadata: ObjectMeta {
                name: metadata.name,
                namespace: metadata.namespace,
                uid: metadata.uid,
                resource_version: metadata.resource_version,
                generation: metadata.generation,
                deletion_timestamp: metadata.deletion_timestamp,
                owner_references: metadata.owner_references,
                ..ObjectMeta::default()
            },
            annotations: pairs(annotations),
            staged_at,
            spec: SetSpec {
                replicas: spec.replicas,
                match_labels: pairs(spec.selector.match_labels),
                volume_claim_templates: spec.volume_claim_templates,
                strategy,
                partition: spec.update_strategy.rolling_update.partition,
                has_max_unavailable: spec.update_strategy.rolling_update.max_unavailable.is_some(),
                pod_management: match &*spec.pod_management_policy {
                    "Parallel" => PodManagement::Parallel,
                    _ => PodManagement::OrderedReady,
                },
                min_ready_seconds: spec.min_ready_seconds,
                revision_history_limit: spec.revision_history_limit,
                first_ordinal: spec.ordinals.start,
            },
            status: SetStatus {
                observed_generation: status.observed_generation,
                update_revision: status.update_revision.into(),
            },
        }
    }
}

fn pairs(texts: BTreeMap<String, String>) -> Pairs {
    texts
        .into_iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

impl From<SentClaim> for Claim {
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
