//! The objects of `deploy/`, and those of a release without what it adds.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::Value;

use crate::world::policy_host::documents;

/// Objects by kind and name, without what a release adds.
pub(super) type Objects = BTreeMap<String, Value>;

/// The value that renders the objects for retention policies as `deploy/` has them.
pub(super) const WARN: &str = "policy.settings.retention=Warn";

/// Every switch that adds objects.
pub(super) const EVERYTHING: [&str; 10] = [
    "features.restart=true",
    "features.reCreate=true",
    "features.openkruise=true",
    "features.replaceSets=true",
    "features.templateChanges=true",
    "controller.networkPolicy.enabled=true",
    "policy.settings.retention=Deny",
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "dashboard.enabled=true",
];

/// A NetworkPolicy, which needs the addresses of the API servers.
pub(super) const NETWORK: [&str; 2] = [
    "webhook.networkPolicy.enabled=true",
    "webhook.networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28",
];

/// The files of `deploy/` for both ways to be called, and those for each.
pub(super) const BOTH: [&str; 7] = [
    "crd.yaml",
    "controller/rbac.yaml",
    "controller/settings.yaml",
    "controller/deployment.yaml",
    "guard/staged.yaml",
    "guard/replacing.yaml",
    "guard/controller.yaml",
];
pub(super) const KUBEWARDEN: [&str; 2] = ["policy-server-rbac.yaml", "policy.yaml"];
pub(super) const BUILTIN: [&str; 3] = [
    "webhook/rbac.yaml",
    "webhook/deployment.yaml",
    "webhook/configuration.yaml",
];

pub(super) fn by_name(objects: Vec<Value>) -> anyhow::Result<Objects> {
    let mut by_name = Objects::new();
    for mut object in objects {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        plain(&mut object);
        ensure!(by_name.insert(name.clone(), object).is_none(), "{name} is there twice");
    }
    Ok(by_name)
}

/// The labels of a release. The first one is also in selectors.
const OF_RELEASE: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
];

/// Removes these keys from all maps in it.
fn remove_everywhere(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !keys.contains(&key.as_str()));
            fields.values_mut().for_each(|value| remove_everywhere(value, keys));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_everywhere(item, keys)),
        _ => {}
    }
}

/// Removes what a release adds and what values fill in.
fn plain(object: &mut Value) {
    remove_everywhere(object, &OF_RELEASE);
    match object["kind"].as_str() {
        Some("CustomResourceDefinition") => {
            remove(&mut object["metadata"], "labels");
            remove(&mut object["metadata"], "annotations");
        }
        Some("ClusterAdmissionPolicy") => remove(&mut object["spec"], "policyServer"),
        // The chart writes JSON.
        Some("ConfigMap") => {
            if let Some(text) = object["data"]["settings.yaml"].as_str() {
                object["data"]["settings.yaml"] = serde_saphyr::from_str(text).unwrap_or_default();
            }
        }
        Some("Deployment") => {
            let template = &mut object["spec"]["template"];
            remove(&mut template["metadata"], "annotations");
            remove(&mut template["spec"]["containers"][0], "imagePullPolicy");
        }
        _ => {}
    }
}

pub(super) fn remove(object: &mut Value, key: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(key);
    }
}

pub(super) fn deployed(files: &[&str]) -> anyhow::Result<Objects> {
    let mut all = Vec::new();
    for file in files {
        all.extend(documents(file)?);
    }
    by_name(all)
}
