//! `ClaimRollout`: the report of a rollout for users. The controller writes it and never decides from it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The target of the rollout. Each new target increments metadata.generation.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "claim-rollout.io",
    version = "v1alpha1",
    kind = "ClaimRollout",
    plural = "claimrollouts",
    namespaced,
    status = "ClaimRolloutStatus",
    shortname = "vcr",
    category = "all",
    derive = "PartialEq",
    doc = "The rollout of changed volumeClaimTemplates to the PVCs of a StatefulSet, as the controller reports it.",
    printcolumn = r#"{"name":"Set","type":"string","jsonPath":".spec.setRef.name"}"#,
    printcolumn = r#"{"name":"Policy","type":"string","jsonPath":".spec.updatePolicy"}"#,
    printcolumn = r#"{"name":"Revision","type":"string","jsonPath":".spec.revision"}"#,
    printcolumn = r#"{"name":"Updated","type":"integer","jsonPath":".status.updatedReplicas"}"#,
    printcolumn = r#"{"name":"Ready","type":"integer","jsonPath":".status.readyReplicas"}"#,
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Replicas","type":"integer","jsonPath":".status.replicas","priority":1}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message","priority":1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRolloutSpec {
    /// The StatefulSet.
    pub set_ref: StatefulSetRef,
    /// The target revision: the hash of the desired templates.
    pub revision: String,
    /// Which staging of these templates it is; absent if nothing is staged. PVCs that have got it have the label
    /// `claim-rollout.io/revision: REVISION.STAGING`.
    pub staging: Option<String>,
    /// The desired templates.
    #[schemars(schema_with = "any_objects")]
    pub templates: Vec<Value>,
    /// How existing PVCs are updated: OnClaimDelete, InPlace or ReCreate.
    pub update_policy: String,
    /// How updates of PVCs and Pods are coordinated: LockStep or Async.
    pub sync: String,
    /// Whether the StatefulSet is replaced after the rollout: Never or WhenComplete.
    pub replace_set: String,
}

/// A reference to the StatefulSet.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatefulSetRef {
    /// The API version of the StatefulSet.
    pub api_version: String,
    /// The kind: StatefulSet.
    pub kind: String,
    /// The name of the StatefulSet.
    pub name: String,
    /// The uid of the StatefulSet.
    pub uid: String,
}

impl ClaimRolloutStatus {
    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }
}

/// The progress of the rollout.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimRolloutStatus {
    /// The generation of the ClaimRollout that this status describes.
    pub observed_generation: i64,
    /// The revision of outdated PVCs; the target revision once none is outdated.
    pub current_revision: String,
    /// The target revision.
    pub update_revision: String,
    /// The staging of the target revision; absent if nothing is staged.
    pub staging: Option<String>,
    /// When the controller first saw this staging.
    pub started_at: Option<Time>,
    /// When a PVC or a Pod last reached a state that it had not reached in this rollout; absent if nothing is rolled out.
    pub last_progress_time: Option<Time>,
    /// The number of replicas of the StatefulSet.
    pub replicas: Option<i64>,
    /// The number of replicas without an updated PVC.
    pub current_replicas: Option<i64>,
    /// The number of replicas whose PVCs are all updated.
    pub updated_replicas: Option<i64>,
    /// The number of replicas whose PVCs are all ready.
    pub ready_replicas: Option<i64>,
    /// The progress by template.
    pub volume_claim_templates: Vec<TemplateStatus>,
    /// PVCs that are not ready, highest ordinal first, at most 50.
    pub claims: Vec<PvcStatus>,
    /// The conditions Ready, Reconciling and Stalled.
    pub conditions: Vec<Condition>,
    /// The replacement of the StatefulSet by one with the desired templates; absent if none was due.
    pub replacement: Option<ReplacementStatus>,
}

/// The replacement of the StatefulSet.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplacementStatus {
    /// InProgress, Stalled, Refused or Replaced.
    pub phase: String,
    /// The last step that was reported.
    pub step: Option<String>,
    /// Why the StatefulSet is not replaced, in one word.
    pub reason: Option<String>,
    /// Why the StatefulSet is not replaced, in a sentence.
    pub message: Option<String>,
    /// The replicas of the old StatefulSet while it is being replaced. With fewer, nobody else may create it.
    pub replicas: Option<i64>,
    /// When this was reported.
    pub since: Time,
}

/// The progress of the PVCs of one template.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateStatus {
    /// The name of the template.
    pub template_name: String,
    /// The number of updated PVCs.
    pub updated_replicas: i64,
    /// The number of ready PVCs.
    pub ready_replicas: i64,
    /// The number of PVCs that request at least what the template requests.
    pub compatible_replicas: i64,
    /// The number of PVCs that also have at least what the template requests.
    pub compatible_ready_replicas: i64,
    /// The generation of the StatefulSet, once all PVCs are ready; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_reconciliation_generation: Option<i64>,
}

/// A PVC that is not ready.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PvcStatus {
    /// The name of the PVC.
    pub name: String,
    /// The ordinal of the replica.
    pub ordinal: i64,
    /// The state of the PVC.
    pub state: String,
    /// The reason for the state, in one word.
    pub reason: String,
    /// The reason for the state, in a sentence.
    pub message: String,
    /// When the PVC entered this state for this reason.
    pub since: Time,
}

/// Objects with any fields: the schema of the templates belongs to another API and is not repeated here.
fn any_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The desired templates.",
        "type": "array",
        "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
    })
}
