//! The watched objects, with the fields that are read and no others: what is not here is never decoded into memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod as CorePod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry, ObjectMeta, Time};
use kube::Resource;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::FIELD_MANAGER;
use crate::json::{self, Map};
use crate::templates::{ClaimTemplate, Quantity, TemplateError, keys};

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
pub(super) struct Claim {
    pub(super) metadata: ObjectMeta,
    #[serde(default = "no_spec", deserialize_with = "read_spec")]
    pub(super) spec: Result<ClaimSpec, TemplateError>,
    #[serde(default)]
    pub(super) status: ClaimStatus,
    /// See [`Claim::trim`].
    #[serde(skip)]
    pub(super) size_is_ours: bool,
    /// See [`Claim::trim`].
    #[serde(skip)]
    pub(super) class_is_ours: bool,
}

/// What a claim asks for, in the words of a template.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimSpec {
    pub(super) storage: Option<Quantity>,
    pub(super) volume_attributes_class_name: Option<String>,
    /// As [`ClaimTemplate::spec`], without the volume, which no template names.
    pub(super) rest: Arc<Map<json::Value>>,
}

fn no_spec() -> Result<ClaimSpec, TemplateError> {
    Ok(ClaimSpec::default())
}

/// A spec that cannot be read is a fault of that claim, and not of the list that it came in.
fn read_spec<'de, D: Deserializer<'de>>(from: D) -> Result<Result<ClaimSpec, TemplateError>, D::Error> {
    let mut spec = Value::deserialize(from)?;
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("volumeName");
    }
    let claim = serde_json::json!({ "metadata": { "name": "claim" }, "spec": spec });
    Ok(ClaimTemplate::from_value(claim).map(|asks| ClaimSpec {
        storage: asks.storage,
        volume_attributes_class_name: asks.volume_attributes_class_name,
        rest: Arc::new(asks.spec),
    }))
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Storage {
    pub(super) storage: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimStatus {
    pub(super) phase: String,
    pub(super) capacity: Storage,
    pub(super) current_volume_attributes_class_name: Option<String>,
    pub(super) allocated_resource_statuses: Storage,
    pub(super) modify_volume_status: ModifyVolumeStatus,
    pub(super) conditions: Vec<ClaimCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModifyVolumeStatus {
    pub(super) status: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClaimCondition {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
    pub(super) message: String,
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

impl Claim {
    /// Drops the metadata that is not read, once it is known whether size and attributes class came from an apply of ours.
    ///
    /// Where a forced apply changes a value, its former owners lose it; where it repeats the value, all of them own it. So
    /// the size is ours iff nobody else owns it.
    pub(super) fn trim(&mut self) {
        let entries = self.metadata.managed_fields.take().unwrap_or_default();
        let size = |entry: &&ManagedFieldsEntry| owns(entry, "/f:spec/f:resources/f:requests/f:storage");
        let mut owners_of_the_size = entries.iter().filter(size).peekable();
        self.size_is_ours = owners_of_the_size.peek().is_some() && owners_of_the_size.all(is_our_apply);
        let class = |entry: &ManagedFieldsEntry| owns(entry, "/f:spec/f:volumeAttributesClassName");
        self.class_is_ours = entries.iter().any(|entry| is_our_apply(entry) && class(entry));
        self.metadata.annotations = None;
    }
}

fn is_our_apply(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.operation.as_deref() == Some("Apply")
}

fn owns(entry: &ManagedFieldsEntry, field: &str) -> bool {
    let fields = entry.fields_v1.as_ref();
    fields.is_some_and(|FieldsV1(fields)| fields.pointer(field).is_some())
}

impl Pod {
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
