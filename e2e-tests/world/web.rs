//! The StatefulSet of the scenarios, as a value.

use std::fmt;

use serde_json::{Value, json};

use super::MARKER;

/// A StatefulSet `web` as a user writes it: under `InPlace`, with one template of 1Gi that expands. It is displayed as a
/// manifest in JSON, which is YAML too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Web(Value);

impl Web {
    /// The StatefulSet with this many replicas.
    pub(crate) fn replicas(replicas: u32) -> Self {
        Self(json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "annotations": {"claim-rollout.io/update-policy": "InPlace"}},
            "spec": {
                "replicas": replicas, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "main", "image": "example/main:1", "env": [{"name": "PASSWORD", "value": MARKER}],
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }],
                }},
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": "expandable",
                    "resources": {"requests": {"storage": "1Gi"}},
                }}],
            },
        }))
    }

    /// The same as a value.
    pub(crate) fn value(&self) -> Value {
        self.0.clone()
    }

    /// The same after a merge patch: `null` removes a field.
    pub(crate) fn with(&self, patch: &Value) -> Self {
        let mut web = self.clone();
        json_patch::merge(&mut web.0, patch);
        web
    }

    /// The same after a merge patch of `spec`.
    pub(crate) fn spec(&self, patch: &Value) -> Self {
        self.with(&json!({"spec": patch}))
    }

    /// The same after a merge patch of `spec.template.spec.containers[0]`.
    pub(crate) fn container(&self, patch: &Value) -> Self {
        let mut web = self.clone();
        json_patch::merge(&mut web.0["spec"]["template"]["spec"]["containers"][0], patch);
        web
    }

    /// The same after a merge patch of `spec.volumeClaimTemplates[0]`.
    pub(crate) fn template(&self, patch: &Value) -> Self {
        let mut web = self.clone();
        json_patch::merge(&mut web.0["spec"]["volumeClaimTemplates"][0], patch);
        web
    }

    /// The same with one more template: a copy of the first one as it is now, under this name.
    pub(crate) fn and_template(&self, name: &str) -> Self {
        let mut added = self.0["spec"]["volumeClaimTemplates"][0].clone();
        added["metadata"]["name"] = json!(name);
        let templates = self.0["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
        let templates: Vec<&Value> = templates.chain([&added]).collect();
        self.spec(&json!({"volumeClaimTemplates": templates}))
    }

    /// The same whose container mounts this volume too.
    pub(crate) fn mounting(&self, name: &str) -> Self {
        let mount = |name: &str| json!({"name": name, "mountPath": format!("/{name}")});
        self.container(&json!({"volumeMounts": [mount("data"), mount(name)]}))
    }

    /// The same with another name, Service and Pods.
    pub(crate) fn named(&self, name: &str) -> Self {
        self.with(&json!({"metadata": {"name": name}, "spec": {
            "serviceName": name, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}},
        }}))
    }

    /// The same without annotations: claim-rollout leaves it alone.
    pub(crate) fn plain(&self) -> Self {
        self.with(&json!({"metadata": {"annotations": null}}))
    }

    /// The same with an annotation of `claim-rollout.io`.
    pub(crate) fn annotated(&self, key: &str, value: &str) -> Self {
        self.with(&json!({"metadata": {"annotations": {format!("claim-rollout.io/{key}"): value}}}))
    }

    /// The same with an annotation of the Pods.
    pub(crate) fn pods_annotated(&self, key: &str, value: &str) -> Self {
        self.spec(&json!({"template": {"metadata": {"annotations": {key: value}}}}))
    }

    /// The same with another update policy.
    pub(crate) fn policy(&self, policy: &str) -> Self {
        self.annotated("update-policy", policy)
    }

    /// The same with another size in the template.
    pub(crate) fn size(&self, size: &str) -> Self {
        self.template(&json!({"spec": {"resources": {"requests": {"storage": size}}}}))
    }

    /// The same with another storage class in the template.
    pub(crate) fn class(&self, class: &str) -> Self {
        self.template(&json!({"spec": {"storageClassName": class}}))
    }

    /// The same with a VolumeAttributesClass in the template.
    pub(crate) fn attributes_class(&self, class: &str) -> Self {
        self.template(&json!({"spec": {"volumeAttributesClassName": class}}))
    }

    /// The same with another image.
    pub(crate) fn image(&self, tag: &str) -> Self {
        self.container(&json!({"image": format!("example/main:{tag}")}))
    }

    /// The same with a partition.
    pub(crate) fn partition(&self, partition: u32) -> Self {
        self.spec(&json!({"updateStrategy": {"rollingUpdate": {"partition": partition}}}))
    }

    /// The same with Pods that start and change all at a time.
    pub(crate) fn parallel(&self) -> Self {
        self.spec(&json!({"podManagementPolicy": "Parallel"}))
    }
}

impl fmt::Display for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0)
    }
}
