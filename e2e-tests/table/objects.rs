//! A small set `web` as the API server would show it, what is staged on it, and what stands around it in the cluster.

use claim_rollout::templates::{ClaimTemplate, Phase, Revision, StagedChange, UpdatePolicy};
use serde_json::{Value, json};

/// The uid of `web`.
pub(super) const UID: &str = "6c4a6a3e-0000-4000-8000-000000000001";
/// Where the controller runs.
pub(super) const CONTROLLER: &str = "system:serviceaccount:claim-rollout:claim-rollout-controller";
/// Who makes claims, and replaces Pods.
pub(super) const SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";
/// What the annotations of this project begin with, in a JSON pointer.
const OURS: &str = "/metadata/annotations/claim-rollout.io~1";

/// An object, and how to make another out of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object(pub(super) Value);

/// `web`: three replicas, `data` of 10Gi and `logs` of 5Gi, with parts that the policy does not know.
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
    /// With this value at this JSON pointer; objects on the way are made.
    pub(super) fn with(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        put(&mut self.0, pointer, value.into());
        self
    }

    /// Without what is there.
    pub(super) fn without(mut self, pointer: &str) -> Self {
        remove(&mut self.0, pointer);
        self
    }

    /// With an annotation of this project.
    pub(super) fn note(self, key: &str, value: &str) -> Self {
        self.with(&format!("{OURS}{key}"), value)
    }

    /// Without it.
    pub(super) fn unnoted(self, key: &str) -> Self {
        self.without(&format!("{OURS}{key}"))
    }

    /// With this update policy.
    pub(super) fn policy(self, policy: &str) -> Self {
        self.note("update-policy", policy)
    }

    /// Under `InPlace`.
    pub(super) fn in_place(self) -> Self {
        self.policy("InPlace")
    }

    /// With another value in the template `data`.
    pub(super) fn data(self, pointer: &str, value: impl Into<Value>) -> Self {
        self.with(&format!("/spec/volumeClaimTemplates/0{pointer}"), value)
    }

    /// With another size of `data`.
    pub(super) fn size(self, size: &str) -> Self {
        self.data("/spec/resources/requests/storage", size)
    }

    /// With another image.
    pub(super) fn image(self, tag: &str) -> Self {
        let image = format!("example/main:{tag}");
        self.with("/spec/template/spec/containers/0/image", image)
    }

    /// With another partition.
    pub(super) fn partition(self, partition: i64) -> Self {
        self.with("/spec/updateStrategy/rollingUpdate/partition", partition)
    }

    /// With this number of replicas.
    pub(super) fn replicas(self, replicas: i64) -> Self {
        self.with("/spec/replicas", replicas)
    }

    /// With this retention policy: `whenDeleted`, then `whenScaled`.
    pub(super) fn retention(self, when_deleted: &str, when_scaled: &str) -> Self {
        let policy = json!({"whenDeleted": when_deleted, "whenScaled": when_scaled});
        self.with("/spec/persistentVolumeClaimRetentionPolicy", policy)
    }

    /// With a controller of another kind as its owner.
    pub(super) fn owned(self) -> Self {
        let owner =
            json!({"apiVersion": "example.com/v1", "kind": "Database", "name": "db", "uid": "d-1", "controller": true});
        self.with("/metadata/ownerReferences", json!([owner]))
    }

    /// With a record of the templates of `target`, still being rolled out in place.
    pub(super) fn staged(self, target: &Self) -> Self {
        self.staged_change(target, UpdatePolicy::InPlace, Phase::RollingOut)
    }

    /// With a record of the templates of `target`.
    pub(super) fn staged_change(self, target: &Self, policy: UpdatePolicy, phase: Phase) -> Self {
        let text = staged_change(target, policy, phase);
        self.note("staged", &text)
    }

    /// With what stands beside a staged change.
    pub(super) fn beside(self, phase: &str, ready: &str) -> Self {
        self.note("phase", phase).note("ready", ready)
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

/// The record of the templates of a set, staged by alice with Helm.
pub(super) fn staged_change(target: &Object, update_policy: UpdatePolicy, phase: Phase) -> String {
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "helm".to_owned(),
        phase,
        templates: target.templates(),
        uid: UID.to_owned(),
        update_policy,
    };
    change.write().expect("a short record")
}

/// Puts a value where a JSON pointer leads, and makes objects on the way; `-` is the end of a list.
pub(super) fn put(root: &mut Value, pointer: &str, value: Value) {
    let mut here = root;
    for segment in pointer.split('/').skip(1) {
        let key = segment.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Array(items) => {
                let index = if key == "-" {
                    items.len()
                } else {
                    key.parse().expect("an index")
                };
                if index == items.len() {
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
}

/// Takes away what a JSON pointer leads to.
pub(super) fn remove(root: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let key = key.replace("~1", "/").replace("~0", "~");
    match root.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&key)),
        Some(Value::Array(items)) => drop(items.remove(key.parse().expect("an index"))),
        _ => panic!("expected something at {pointer}"),
    }
}

/// A bound claim of 10Gi in the class `standard`, by name.
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

/// The three claims of `data`.
pub(super) fn claims() -> Vec<Value> {
    (0..3).map(|ordinal| claim(&format!("data-web-{ordinal}")).0).collect()
}

/// A storage class that says this about expansion.
pub(super) fn storage_class(name: &str, expansion: impl Into<Value>) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "csi.example.com", "allowVolumeExpansion": expansion.into()})
}

/// A volume attributes class of a driver.
pub(super) fn attributes_class(name: &str, driver: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": name},
        "driverName": driver})
}

/// The answer to whether a user may patch claims.
pub(super) fn access(user: &str, allowed: bool) -> Value {
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": {"namespace": "shop", "verb": "patch", "resource": "persistentvolumeclaims"}},
        "status": {"allowed": allowed}})
}
