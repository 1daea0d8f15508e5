//! StatefulSets reduced to the fields that are read. Other fields are never decoded into memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::set_kind::SetKind;
use super::staged_before::{staged_before, touched_at};
use crate::api::Seconds;
use crate::claims::Owner;
use crate::controller::read::metadata;
use crate::gate::PodManagement;
use crate::json;
use crate::replace::FINALIZER;
use crate::templates::{ClaimTemplate, Strategy, TemplateError, UpdatePolicy, keys};

/// A StatefulSet in few bytes: there are thousands.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StatefulSet")]
#[serde(from = "SentSet")]
pub(crate) struct SlimSet {
    pub(crate) kind: SetKind,
    /// The identity, the generation and the owners.
    pub(crate) metadata: ObjectMeta,
    /// True iff the set is being replaced: it has our finalizer.
    pub(crate) is_marked: bool,
    /// Our annotations, by key.
    annotations: Pairs,
    /// The latest possible time of the staging; only with the update strategy `OnDelete`.
    pub(crate) staged_before: Option<Seconds>,
    /// The latest possible time of the staging, whoever asked for it; only if something is staged.
    pub(crate) touched_at: Option<Seconds>,
    pub(crate) spec: SlimSetSpec,
    pub(crate) status: SlimSetStatus,
}

/// A small map: a map of the standard library takes half a kilobyte for its first entry.
pub(crate) type Pairs = Box<[(Box<str>, Box<str>)]>;

#[derive(Clone, Debug)]
pub(crate) struct SlimSetSpec {
    pub(crate) replicas: Option<i32>,
    pub(crate) match_labels: Pairs,
    /// Unparsed JSON: parsed templates take ten times the memory, and those of most sets are never read.
    pub(crate) volume_claim_templates: Option<Box<RawValue>>,
    pub(crate) strategy: Strategy,
    pub(crate) partition: i32,
    pub(crate) has_max_unavailable: bool,
    pub(crate) pod_management: PodManagement,
    pub(crate) min_ready_seconds: i32,
    pub(crate) revision_history_limit: Option<i32>,
    pub(crate) first_ordinal: i32,
    /// Only OpenKruise has these fields.
    pub(crate) advanced: AdvancedSpec,
}

/// The fields of OpenKruise's StatefulSet that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdvancedSpec {
    /// `spec.volumeClaimUpdateStrategy.type` is `OnPodRollingUpdate`.
    pub(crate) updates_claims: bool,
    /// `spec.reserveOrdinals` is not empty.
    pub(crate) reserves_ordinals: bool,
    /// `spec.updateStrategy.rollingUpdate.paused`
    pub(crate) is_paused: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SlimSetStatus {
    pub(crate) observed_generation: i64,
    pub(crate) update_revision: Box<str>,
}

/// A StatefulSet as the API server sends it.
#[derive(Deserialize)]
struct SentSet {
    metadata: metadata::Sent<Box<RawValue>>,
    #[serde(default)]
    spec: SentSpec,
    #[serde(default)]
    status: SentStatus,
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
    volume_claim_update_strategy: ClaimUpdateStrategy,
    reserve_ordinals: Vec<IgnoredAny>,
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
    /// Only whether the field is present.
    max_unavailable: Option<IgnoredAny>,
    paused: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaimUpdateStrategy {
    #[serde(rename = "type")]
    type_: String,
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

/// The reply to a patch of a StatefulSet.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StatefulSet")]
#[serde(from = "SentPatched")]
pub(crate) struct Patched {
    pub(crate) metadata: ObjectMeta,
    pub(crate) managed_fields: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct SentPatched {
    metadata: metadata::Sent<Box<RawValue>>,
}

impl From<SentPatched> for Patched {
    fn from(sent: SentPatched) -> Self {
        let (metadata, managed_fields) = sent.metadata.split();
        Self {
            metadata,
            managed_fields,
        }
    }
}

/// A StatefulSet of OpenKruise, `apps.kruise.io`.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "SentSet")]
pub(crate) struct KruiseSet(pub(crate) SlimSet);

impl From<SentSet> for KruiseSet {
    fn from(sent: SentSet) -> Self {
        Self(SlimSet {
            kind: SetKind::OpenKruise,
            is_marked: false,
            ..SlimSet::from(sent)
        })
    }
}

impl Resource for KruiseSet {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(&(): &()) -> Cow<'_, str> {
        "StatefulSet".into()
    }

    fn group(&(): &()) -> Cow<'_, str> {
        "apps.kruise.io".into()
    }

    fn version(&(): &()) -> Cow<'_, str> {
        "v1beta1".into()
    }

    fn plural(&(): &()) -> Cow<'_, str> {
        "statefulsets".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

impl SlimSet {
    /// True iff a change may be rolled out.
    pub(crate) fn is_managed(&self) -> bool {
        match self.kind {
            SetKind::Apps => self.annotation(keys::STAGED).is_some(),
            SetKind::OpenKruise => self.annotation(keys::UPDATE_POLICY) == Some(UpdatePolicy::InPlace.as_str()),
        }
    }

    /// The value of one of our annotations.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        let mut ours = self.annotations.iter();
        ours.find(|(known, _)| **known == *key).map(|(_, value)| &**value)
    }

    /// Our annotations, by key.
    pub(crate) fn annotations(&self) -> &[(Box<str>, Box<str>)] {
        &self.annotations
    }

    /// The live templates.
    ///
    /// # Errors
    /// [`TemplateError`] if they are invalid.
    pub(crate) fn templates(&self) -> Result<Vec<ClaimTemplate>, TemplateError> {
        let text = self
            .spec
            .volume_claim_templates
            .as_ref()
            .map_or("null", |text| text.get());
        ClaimTemplate::list_from_value(json::read(text)?)
    }

    /// The names of the live templates; none if they are invalid.
    pub(crate) fn template_names(&self) -> Vec<String> {
        let templates = self.templates().unwrap_or_default();
        templates.into_iter().map(|template| template.name).collect()
    }
}

impl From<SentSet> for SlimSet {
    fn from(sent: SentSet) -> Self {
        let SentSet { metadata, spec, status } = sent;
        let (metadata, managed_fields) = metadata.split();
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| key.starts_with(keys::PREFIX));
        let strategy = Strategy::of_type(&spec.update_strategy.type_);
        // The time of the staging shows which Pods were created since.
        let staged = annotations.get(keys::STAGED).filter(|_| strategy == Strategy::OnDelete);
        let fields = managed_fields.as_deref();
        let staged_before = staged.and_then(|staged| staged_before(staged, fields?));
        let touched_at = fields
            .filter(|_| annotations.contains_key(keys::STAGED))
            .and_then(touched_at);
        Self {
            kind: SetKind::Apps,
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
            is_marked: metadata
                .finalizers
                .iter()
                .flatten()
                .any(|finalizer| finalizer == FINALIZER),
            annotations: pairs(annotations),
            staged_before,
            touched_at,
            spec: SlimSetSpec {
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
                advanced: AdvancedSpec {
                    updates_claims: spec.volume_claim_update_strategy.type_ == "OnPodRollingUpdate",
                    reserves_ordinals: !spec.reserve_ordinals.is_empty(),
                    is_paused: spec.update_strategy.rolling_update.paused,
                },
            },
            status: SlimSetStatus {
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

/// One entry of `metadata.ownerReferences`.
pub(crate) fn owner(reference: OwnerReference) -> Owner {
    Owner {
        controller: reference.controller == Some(true),
        block_owner_deletion: reference.block_owner_deletion == Some(true),
        api_version: reference.api_version,
        kind: reference.kind,
        name: reference.name,
        uid: reference.uid,
    }
}
