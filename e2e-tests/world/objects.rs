//! The objects that every control plane starts with.

use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::programs::{DRIVER, NODE_ANNOTATION};

/// The default StorageClass: volumes are created at once and can grow.
pub(crate) const EXPANDABLE: &str = "expandable";
/// A StorageClass whose volumes cannot grow.
pub(crate) const FIXED: &str = "fixed";
/// A StorageClass like [`EXPANDABLE`] whose volumes are created when the first Pod needs them.
const ON_FIRST_USE: &str = "on-first-use";
/// The VolumeAttributesClasses.
pub(crate) const ATTRIBUTES_CLASSES: [&str; 2] = ["silver", "gold"];
/// The only Node.
pub(super) const NODE: &str = "node-0";

/// The node, the driver and the classes, in the API versions that this minor version serves.
fn all(minor: u32) -> Vec<Value> {
    let mut objects = vec![
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": NODE, "annotations": {NODE_ANNOTATION: "fake"}, "labels": {
                // As a kubelet sets them; the shipped Deployments select a system.
                "kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            }},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": false},
        }),
    ];
    for (name, default, expandable, binding) in [
        (EXPANDABLE, "true", true, "Immediate"),
        (FIXED, "false", false, "Immediate"),
        (ON_FIRST_USE, "false", true, "WaitForFirstConsumer"),
    ] {
        let mut class = json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}},
            "provisioner": DRIVER,
            "volumeBindingMode": binding,
        });
        if expandable {
            class["allowVolumeExpansion"] = true.into();
        }
        objects.push(class);
    }
    // 1.33 has them behind a feature gate.
    let classes = if minor < 34 { &[][..] } else { &ATTRIBUTES_CLASSES };
    for name in classes {
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttributesClass",
            "metadata": {"name": name},
            "driverName": DRIVER,
            "parameters": {"tier": name},
        }));
    }
    objects
}

/// Creates the objects.
pub(super) async fn create(client: &kube::Client, minor: u32) -> anyhow::Result<()> {
    for object in all(minor) {
        let object: DynamicObject = serde_json::from_value(object)?;
        let types = object.types.clone().unwrap_or_default();
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        api.create(&PostParams::default(), &object).await?;
    }
    Ok(())
}
