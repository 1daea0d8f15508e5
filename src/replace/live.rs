//! A StatefulSet as the API server returned it.
//!
//! It is kept as JSON, because the new StatefulSet must have every field of the old one, also those of newer releases.

use std::ops::Range;

use serde_json::{Value, json};

use crate::json;
use crate::templates::{ClaimTemplate, ReplaceSet, StagedChange, Strategy, UpdatePolicy, keys};

pub use crate::templates::keys::{HOLD, REPLACING as FINALIZER};

/// The finalizer that the API server adds to a StatefulSet that is deleted without its dependents.
const ORPHAN: &str = "orphan";

/// The finalizer that the API server adds to a StatefulSet that is deleted after its dependents.
const FOREGROUND: &str = "foregroundDeletion";

/// The `maxUnavailable` that the API server adds to a `rollingUpdate`, if it knows the field.
pub const MAX_UNAVAILABLE: i64 = 1;

/// The value of `whenDeleted` that lets PVCs depend on the StatefulSet.
pub(super) const DELETE: &str = "Delete";

/// The fields of metadata that the API server writes.
const OF_SERVER: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// The annotations of a staged change. A StatefulSet with the desired templates has none of them.
const OF_STAGED_CHANGE: [&str; 5] = [keys::STAGED, keys::PHASE, keys::READY, keys::STAGED_AT, keys::WITHDRAW];

/// A StatefulSet as the API server returned it.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSet(Value);

impl LiveSet {
    /// The object.
    #[must_use]
    pub const fn new(object: Value) -> Self {
        Self(object)
    }

    /// The object as JSON.
    #[must_use]
    pub const fn object(&self) -> &Value {
        &self.0
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, pointer: &str) -> Option<i64> {
        self.0.pointer(pointer).and_then(Value::as_i64)
    }

    /// `metadata.namespace`
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// `metadata.name`
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `metadata.uid`
    #[must_use]
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `metadata.resourceVersion`
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// `metadata.creationTimestamp`, in RFC 3339.
    #[must_use]
    pub fn created(&self) -> &str {
        self.text("/metadata/creationTimestamp")
    }

    /// True iff the object is being deleted.
    #[must_use]
    pub fn terminating(&self) -> bool {
        self.0
            .pointer("/metadata/deletionTimestamp")
            .is_some_and(Value::is_string)
    }

    /// `metadata.finalizers`
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let finalizers = self.0.pointer("/metadata/finalizers").and_then(Value::as_array);
        finalizers.into_iter().flatten().filter_map(Value::as_str)
    }

    /// True iff the object has our finalizer.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.finalizers().any(|finalizer| finalizer == FINALIZER)
    }

    /// True iff the garbage collector has yet to remove the references to the object.
    #[must_use]
    pub fn is_orphaning(&self) -> bool {
        self.finalizers().any(|finalizer| finalizer == ORPHAN)
    }

    /// True iff somebody else deleted the object with its dependents: we never do.
    #[must_use]
    pub fn is_deleted_in_foreground(&self) -> bool {
        self.terminating() && self.finalizers().any(|finalizer| finalizer == FOREGROUND)
    }

    /// The first finalizer of somebody else.
    #[must_use]
    pub fn foreign_finalizer(&self) -> Option<&str> {
        self.finalizers()
            .find(|finalizer| ![FINALIZER, ORPHAN].contains(finalizer))
    }

    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    /// The update policy of this staged change: the annotation, else that of the change.
    #[must_use]
    pub fn update_policy(&self, change: &StagedChange) -> UpdatePolicy {
        let annotation = self.annotation(keys::UPDATE_POLICY);
        annotation
            .and_then(|text| text.parse().ok())
            .unwrap_or(change.update_policy)
    }

    /// The staged change; none if there is none or it cannot be read.
    #[must_use]
    pub fn staged(&self) -> Option<StagedChange> {
        StagedChange::read(self.annotation(keys::STAGED)?, self.uid()).ok()
    }

    /// The annotation `replace-set`, or the default.
    #[must_use]
    pub fn replace_set(&self, default: ReplaceSet) -> ReplaceSet {
        let value = self.annotation(keys::REPLACE_SET).and_then(|text| text.parse().ok());
        value.unwrap_or(default)
    }

    /// `spec.volumeClaimTemplates`
    #[must_use]
    pub fn templates(&self) -> &Value {
        &self.0["spec"]["volumeClaimTemplates"]
    }

    /// `spec.template`
    #[must_use]
    pub fn pod_template(&self) -> &Value {
        &self.0["spec"]["template"]
    }

    /// `spec.replicas`
    #[must_use]
    pub fn replicas(&self) -> i64 {
        self.number("/spec/replicas").unwrap_or(1)
    }

    /// The first ordinal.
    #[must_use]
    pub fn first_ordinal(&self) -> i64 {
        self.number("/spec/ordinals/start").unwrap_or(0)
    }

    /// The ordinals in range.
    #[must_use]
    pub fn ordinals(&self) -> Range<i64> {
        let first = self.first_ordinal();
        first..first.saturating_add(self.replicas())
    }

    /// True iff the update strategy is `Recreate`: another revision would delete all Pods at once.
    #[must_use]
    pub fn recreates_pods(&self) -> bool {
        self.strategy() == Strategy::Recreate
    }

    /// True iff the update strategy is `OnDelete`.
    #[must_use]
    pub fn is_on_delete(&self) -> bool {
        self.strategy() == Strategy::OnDelete
    }

    /// True iff the update strategy has a partition.
    #[must_use]
    pub fn has_partition(&self) -> bool {
        self.strategy() == Strategy::RollingUpdate
    }

    fn strategy(&self) -> Strategy {
        Strategy::of_type(self.text("/spec/updateStrategy/type"))
    }

    /// `spec.updateStrategy.rollingUpdate.partition`
    #[must_use]
    pub fn partition(&self) -> i64 {
        self.number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0)
    }

    /// `spec.updateStrategy.rollingUpdate`; an operator may leave it out.
    #[must_use]
    pub fn rolling_update(&self) -> Option<&Value> {
        let fields = self.0.pointer("/spec/updateStrategy/rollingUpdate")?;
        (!fields.is_null()).then_some(fields)
    }

    /// True iff the update strategy has another `maxUnavailable` than [`MAX_UNAVAILABLE`].
    #[must_use]
    pub fn has_max_unavailable(&self) -> bool {
        let fields = self.rolling_update();
        let found = fields.and_then(|fields| fields.get("maxUnavailable"));
        found.is_some_and(|found| *found != json!(MAX_UNAVAILABLE))
    }

    /// `spec.persistentVolumeClaimRetentionPolicy.whenDeleted`
    #[must_use]
    pub fn when_deleted(&self) -> Option<&str> {
        self.0
            .pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted")?
            .as_str()
    }

    /// `spec.selector`
    #[must_use]
    pub fn selector(&self) -> &Value {
        &self.0["spec"]["selector"]
    }

    /// True iff the status describes this generation.
    #[must_use]
    pub fn status_is_current(&self) -> bool {
        self.number("/status/observedGeneration") == self.number("/metadata/generation")
    }

    /// `metadata.generation`
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.number("/metadata/generation").unwrap_or(0)
    }

    /// `status.observedGeneration`: the last generation that the StatefulSet controller has seen.
    #[must_use]
    pub fn observed_generation(&self) -> i64 {
        self.number("/status/observedGeneration").unwrap_or(0)
    }

    /// True iff the set is to be replaced, and its PVCs do not depend on it.
    #[must_use]
    pub fn retains(&self) -> bool {
        self.is_marked() && self.when_deleted() != Some(DELETE)
    }

    /// `status.updateRevision`
    #[must_use]
    pub fn update_revision(&self) -> &str {
        self.text("/status/updateRevision")
    }

    /// The entries of `metadata.managedFields`.
    pub(super) fn managers(&self) -> impl Iterator<Item = &Value> {
        let entries = self.0.pointer("/metadata/managedFields").and_then(Value::as_array);
        entries.into_iter().flatten()
    }

    /// True iff a manager other than the users' owns the fields of the spec: the field manager of the create.
    #[must_use]
    pub fn is_owned_by(&self, manager: &str) -> bool {
        self.managers()
            .any(|entry| entry["manager"] == manager && entry.pointer("/fieldsV1/f:spec").is_some())
    }

    /// True iff somebody else than this manager wrote to the Pod template.
    #[must_use]
    pub fn has_pod_template_of_others(&self, manager: &str) -> bool {
        self.managers()
            .any(|entry| entry["manager"] != manager && entry.pointer("/fieldsV1/f:spec/f:template").is_some())
    }

    /// `metadata.managedFields` without the entries of a manager.
    #[must_use]
    pub fn managed_fields_without(&self, manager: &str) -> Value {
        let others = self.managers().filter(|entry| entry["manager"] != manager);
        others.cloned().collect()
    }

    /// The object without our finalizer, for the update that lets it go.
    #[must_use]
    pub fn unmarked(&self) -> Value {
        let mut object = self.0.clone();
        let others: Vec<&str> = self.finalizers().filter(|finalizer| *finalizer != FINALIZER).collect();
        object["metadata"]["finalizers"] = json!(others);
        object
    }

    /// The StatefulSet to create in its place: every field that a user may write, with these templates. It has our
    /// finalizer, and an update strategy that keeps every Pod until it is known that the new object has the old
    /// revision.
    #[must_use]
    pub fn recreated(&self, templates: &[Value], when_deleted: Option<&str>) -> Value {
        let mut object = self.0.clone();
        let (has_partition, recreates_pods) = (self.has_partition(), self.recreates_pods());
        let Some(fields) = object.as_object_mut() else {
            return object;
        };
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !OF_SERVER.contains(&&**key));
            metadata.insert("finalizers".to_owned(), json!([FINALIZER]));
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.retain(|key, _| !OF_STAGED_CHANGE.contains(&&**key));
            }
        }
        let spec = &mut object["spec"];
        spec["volumeClaimTemplates"] = json!(templates);
        if has_partition {
            spec["updateStrategy"]["type"] = json!("RollingUpdate");
            spec["updateStrategy"]["rollingUpdate"]["partition"] = json!(HOLD);
        } else if recreates_pods {
            spec["updateStrategy"]["type"] = json!("OnDelete");
        }
        if let Some(when_deleted) = when_deleted {
            spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = json!(when_deleted);
        }
        object
    }
}

/// The templates in a list of JSON values. None if they cannot be read.
pub(super) fn read_templates(list: &Value) -> Option<Vec<ClaimTemplate>> {
    let list = json::read(&list.to_string()).ok()?;
    ClaimTemplate::list_from_value(list).ok()
}
