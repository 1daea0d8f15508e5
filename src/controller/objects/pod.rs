//! Pods reduced to the fields that are read.

use k8s_openapi::api::core::v1::Pod as CorePod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::Deserialize;

use crate::controller::read::metadata;

/// The label of a Pod with its revision.
pub(crate) const POD_REVISION: &str = "controller-revision-hash";

/// A Pod.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "CorePod")]
pub(crate) struct SlimPod {
    #[serde(deserialize_with = "metadata::without_managers")]
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: PodSpec,
    #[serde(default)]
    pub(crate) status: PodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodSpec {
    pub(crate) volumes: Vec<Volume>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) persistent_volume_claim: Option<VolumeClaim>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeClaim {
    pub(crate) claim_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) conditions: Vec<PodCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) message: String,
    #[serde(deserialize_with = "metadata::time")]
    pub(crate) last_transition_time: Option<Time>,
}

impl SlimPod {
    /// The names of the PVCs that the Pod mounts.
    pub(crate) fn claims(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        let claims = volumes.filter_map(|volume| volume.persistent_volume_claim.as_ref());
        claims.map(|claim| claim.claim_name.as_str())
    }

    /// The names of the volumes of these PVCs.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = &str> {
        let volumes = self.spec.volumes.iter();
        let volumes = volumes.filter(|volume| volume.persistent_volume_claim.is_some());
        volumes.map(|volume| volume.name.as_str())
    }

    /// Drops metadata and conditions that are not read.
    pub(crate) fn trim(&mut self) {
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
