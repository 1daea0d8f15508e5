//! `ClaimRollout`: what users read of a rollout. The controller writes it and never decides from it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// What is being rolled out to the claims of a StatefulSet. Its generation counts the wishes.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    doc = "The rollout of changed volumeClaimTemplates to the claims of a StatefulSet. Written by the controller, for reading.",
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
    /// The set.
    pub set_ref: SetRef,
    /// The revision of the wanted templates.
    pub revision: String,
    /// The wanted templates.
    #[schemars(schema_with = "any_objects")]
    pub templates: Vec<TemplateText>,
    /// How existing claims follow: OnClaimDelete, InPlace or ReCreate.
    pub update_policy: String,
    /// How claims and Pods are coordinated: LockStep or Async.
    pub sync: String,
    /// Whether the set is replaced at the end: Never or WhenComplete.
    pub replace_set: String,
}

/// A template as text: a tree of it takes ten times as much memory, there are thousands of them, and nobody looks into one.
#[derive(Clone, Debug)]
pub struct TemplateText(Box<str>);

impl TemplateText {
    fn value(&self) -> serde_json::Result<Value> {
        serde_json::from_str(&self.0)
    }
}

impl From<Value> for TemplateText {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

/// The order of fields is nobody's business.
impl PartialEq for TemplateText {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || matches!((self.value(), other.value()), (Ok(one), Ok(other)) if one == other)
    }
}

impl<'de> Deserialize<'de> for TemplateText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for TemplateText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Which object is meant.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetRef {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// How far the rollout has come.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimRolloutStatus {
    /// The generation that this status is about.
    pub observed_generation: i64,
    /// The revision of the claims that are not at the wish; at the end that of the wish.
    pub current_revision: String,
    /// The revision of the wish.
    pub update_revision: String,
    /// When the controller first saw this wish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Replicas of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// Replicas of which no claim is at the wish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i64>,
    /// Replicas of which every claim is at the wish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i64>,
    /// Replicas of which every claim is at the wish and ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i64>,
    /// The same for the claims of each template.
    pub volume_claim_templates: Vec<TemplateStatus>,
    /// Claims that are not done, highest ordinal first, at most 50.
    pub claims: Vec<ClaimStatus>,
    /// Ready, Reconciling and Stalled.
    pub conditions: Vec<Condition>,
}

/// How far the claims of one template have come.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateStatus {
    /// The name of the template.
    pub template_name: String,
    /// Claims at the wish.
    pub updated_replicas: i64,
    /// Claims at the wish and ready.
    pub ready_replicas: i64,
    /// Claims that ask for at least what the template asks for.
    pub compatible_replicas: i64,
    /// Such claims that have it.
    pub compatible_ready_replicas: i64,
    /// The generation of the StatefulSet, once every claim is at the wish and ready; not there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_reconciliation_generation: Option<i64>,
}

/// One claim that is not done.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimStatus {
    /// Its name.
    pub name: String,
    /// The ordinal of its replica.
    pub ordinal: i64,
    /// How far it has come.
    pub state: String,
    /// Why, as one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// Since when it has been in this state for this reason.
    pub since: Time,
}

/// Objects of any fields: the templates are those of another API, whose schema is not repeated here.
fn any_objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The wanted templates.",
        "type": "array",
        "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
    })
}

#[cfg(test)]
mod tests {
    use super::TemplateText;

    #[test]
    fn templates_are_equal_whatever_the_order_of_their_fields() {
        let text = |text: &str| TemplateText(text.into());
        for (one, other, expected) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            ("", "{}", false),
        ] {
            assert_eq!(text(one) == text(other), expected, "{one} {other}");
        }
    }
}
