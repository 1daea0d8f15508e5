//! A small StatefulSet `web` as the API server stores it, a staged change for it, and other objects of the cluster.

use claim_rollout::templates::{ClaimTemplate, Phase, Revision, StagedChange, Staging, UpdatePolicy};
use serde_json::{Value, json};

/// The uid of `web`.
pub(super) const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";
/// The account of the StatefulSet controller.
pub(super) const SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";
/// The prefix of our annotations, in a JSON pointer.
const OURS: &str = "/metadata/annotations/claim-rollout.io~1";

/// An object, with methods that return changed copies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object(pub(super) Value);

/// `web`: three replicas, `data` of 10Gi and `logs` of 5Gi, with fields that the policy does not know.
pub(super) fn web() -> Object {
    let claim = |name: &str, size: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "creationTimestamp": null},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
                "storageClassName": "standard", "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})
    };
    Object(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, "resourceVersion": "100", "generation": 1,
            "labels": {"app": "web"}, "annotations": {"example.com/note": "kept"},
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}]},
        "spec": {"replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "example/main:1"}]}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "volumeClaimTemplates": [claim("data", "10Gi"), claim("logs", "5Gi")],
            "fieldOfTheFuture": {"deep": [null, 1.5]}},
        "status": {"replicas": 3, "readyReplicas": 3},
    }))
}

impl Object {
    /// Sets the value at this JSON pointer; creates the objects on the way.
    pub(super) fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        put(&mut self.0, pointer, value.into()).expect("a pointer");
        self
    }

    /// Removes the value at this JSON pointer.
    pub(super) fn without(mut self, pointer: &str) -> Self {
        remove(&mut self.0, pointer).expect("a pointer");
        self
    }

    /// Sets one of our annotations.
    pub(super) fn note(self, key: &str, value: &str) -> Self {
        self.with(&format!("{OURS}{key}"), value)
    }

    /// Removes one of our annotations.
    pub(super) fn unnoted(self, key: &str) -> Self {
        self.without(&format!("{OURS}{key}"))
    }

    /// Sets the update policy.
    pub(super) fn policy(self, policy: &str) -> Self {
        self.note("update-policy", policy)
    }

    /// Sets the update policy `InPlace`.
    pub(super) fn in_place(self) -> Self {
        self.policy("InPlace")
    }

    /// Sets a value in the template `data`.
    pub(super) fn data(self, pointer: &str, value: impl Into<Value>) -> Self {
        self.with(&format!("/spec/volumeClaimTemplates/0{pointer}"), value)
    }

    /// Sets the size of `data`.
    pub(super) fn size(self, size: &str) -> Self {
        self.data("/spec/resources/requests/storage", size)
    }

    /// Sets the image.
    pub(super) fn image(self, tag: &str) -> Self {
        let image = format!("example/main:{tag}");
        self.with("/spec/template/spec/containers/0/image", image)
    }

    /// Sets the number of replicas.
    pub(super) fn replicas(self, replicas: i64) -> Self {
        self.with("/spec/replicas", replicas)
    }

    /// Sets the retention policy: `whenDeleted`, then `whenScaled`.
    pub(super) fn retention(self, when_deleted: &str, when_scaled: &str) -> Self {
        let policy = json!({"whenDeleted": when_deleted, "whenScaled": when_scaled});
        self.with("/spec/persistentVolumeClaimRetentionPolicy", policy)
    }

    /// Adds a controller of another kind as the owner.
    pub(super) fn owned(self) -> Self {
        let owner =
            json!({"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "d-1", "controller": true});
        self.with("/metadata/ownerReferences", json!([owner]))
    }

    /// Stages the templates of `target`, with a rollout in progress under `InPlace`.
    pub(super) fn staged(self, target: &Self) -> Self {
        self.staged_change(target, UpdatePolicy::InPlace, Phase::RollingOut)
    }

    /// Stages the templates of `target`.
    pub(super) fn staged_change(self, target: &Self, policy: UpdatePolicy, phase: Phase) -> Self {
        let text = staged_change(target, policy, phase);
        self.note("staged", &text)
    }

    /// The templates.
    pub(super) fn templates(&self) -> Vec<ClaimTemplate> {
        ClaimTemplate::list_from_value(self.0["spec"]["volumeClaimTemplates"].clone()).expect("templates")
    }

    /// The revision of the templates.
    pub(super) fn revision(&self) -> String {
        Revision::of(&self.templates()).to_string()
    }
}

/// The staging of the staged changes of the table.
pub(super) const STAGING: &str = "xz245";

/// The staged change for the templates of a StatefulSet, staged by alice with Helm.
pub(super) fn staged_change(target: &Object, update_policy: UpdatePolicy, phase: Phase) -> String {
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase,
        replicas: 0,
        staging: Staging::read(STAGING).expect("a staging"),
        templates: target.templates(),
        uid: UID.to_owned(),
        update_policy,
    };
    change.write().expect("a short record")
}

/// Sets the value at a JSON pointer, and creates objects on the way; `-` is the end of a list.
pub(super) fn put(root: &mut Value, pointer: &str, value: Value) -> Result<(), String> {
    let mut here = root;
    for segment in pointer.split('/').skip(1) {
        let key = unescaped(segment);
        here = match here {
            Value::Array(items) => {
                let end = items.len();
                let index = if key == "-" { Some(end) } else { key.parse().ok() };
                let index = index.filter(|index| *index <= end);
                let index = index.ok_or_else(|| format!("{pointer}: expected at most {end} items"))?;
                if index == end {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            other => {
                if !other.is_object() {
                    *other = json!({});
                }
                &mut other[&key]
            }
        };
    }
    *here = value;
    Ok(())
}

/// Removes the value at a JSON pointer.
pub(super) fn remove(root: &mut Value, pointer: &str) -> Result<(), String> {
    let nothing = || format!("{pointer}: there is nothing to remove");
    let (parent, key) = pointer.rsplit_once('/').ok_or_else(nothing)?;
    let key = unescaped(key);
    match root.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&key)),
        Some(Value::Array(items)) => {
            let index = key.parse().ok().filter(|index| *index < items.len());
            items.remove(index.ok_or_else(nothing)?);
        }
        _ => return Err(nothing()),
    }
    Ok(())
}

/// The key of a segment of a JSON pointer.
fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// A bound PVC of 10Gi in the class `standard`, by name.
pub(super) fn claim(name: &str) -> Object {
    Object(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"), "labels": {"app": "web"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": "standard", "volumeMode": "Filesystem", "volumeName": format!("pv-{name}")},
        "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}},
    }))
}

/// A running Pod of `web`, by ordinal.
pub(super) fn pod(ordinal: u32) -> Object {
    let volume =
        |name: &str| json!({"name": name, "persistentVolumeClaim": {"claimName": format!("{name}-web-{ordinal}")}});
    Object(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("web-{ordinal}"), "namespace": "shop", "uid": format!("uid-web-{ordinal}"),
            "labels": {"app": "web"}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web",
                "uid": UID, "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"containers": [{"name": "main", "image": "example/main:1"}],
            "volumes": [volume("data"), volume("logs"), {"name": "scratch", "emptyDir": {}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }))
}

/// The three PVCs of `data`.
pub(super) fn claims() -> Vec<Value> {
    (0..3).map(|ordinal| claim(&format!("data-web-{ordinal}")).0).collect()
}

/// A storage class with this value of allowVolumeExpansion.
pub(super) fn storage_class(name: &str, expansion: impl Into<Value>) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "csi.example.com", "allowVolumeExpansion": expansion.into()})
}

/// A volume attributes class of a driver.
pub(super) fn attributes_class(name: &str, driver: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": name},
        "driverName": driver})
}

/// The SubjectAccessReview of a user, with the same answer for every right.
pub(super) fn access(user: &str, allowed: bool) -> Value {
    review(user, ["*"; 4], allowed)
}

/// The SubjectAccessReview of a user for one right: `delete persistentvolumeclaims`, `create pods/eviction`.
pub(super) fn right(user: &str, right: &str, allowed: bool) -> Value {
    let (verb, resource) = right.split_once(' ').unwrap_or_default();
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    review(user, [verb, group, resource, subresource], allowed)
}

fn review(user: &str, [verb, group, resource, subresource]: [&str; 4], allowed: bool) -> Value {
    let attributes =
        json!({"namespace": "shop", "verb": verb, "group": group, "resource": resource, "subresource": subresource});
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes}, "status": {"allowed": allowed}})
}
