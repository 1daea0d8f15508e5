//! Pods reduced to the fields that are read.

use k8s_openapi::api::core::v1::Pod as CorePod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::Deserialize;

use super::read::metadata;

/// The label of a Pod with its revision.
pub(super) const POD_REVISION: &str = "controller-revision-hash";

/// A Pod.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "CorePod")]
pub(super) struct SlimPod {
    #[serde(deserialize_with = "metadata::without_managers")]
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
    pub(super) name: String,
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
    #[serde(deserialize_with = "metadata::time")]
    pub(super) last_transition_time: Option<Time>,
}

impl SlimPod {
    /// The names of the PVCs that the Pod mounts.
    pub(super) fn claims(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        claims.map(|claim| claim.claim_name.as_str())
    }

    /// The names of the volumes of these PVCs.
    pub(super) fn volumes(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        let volumes = volumes.filter(|volume| volume.persistent_volume_claim.is_some());
        volumes.map(|volume| volume.name.as_str())
    }

    /// Drops metadata and conditions that are not read.
    pub(super) fn trim(&mut self) {
        let metadata = &mut self.metadata;
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
