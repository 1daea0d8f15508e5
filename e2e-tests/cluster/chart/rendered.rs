//! The objects that the chart renders.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::foreign::{self, missing_api_fails_with_a_cure};
use super::objects::check_objects;
use super::security::restricted_level_admits_the_pods;
use super::settings::check_settings;
use super::{flag, folder, render};
use crate::world::policy_host::documents;
use crate::world::{Cluster, Options};

/// Objects by kind and name, without what a release adds.
pub(super) type Objects = BTreeMap<String, Value>;

/// The value that renders the objects for retention policies as `deploy/` has them.
pub(super) const WARN: &str = "policy.settings.retention=Warn";

/// Every switch that adds objects.
pub(super) const EVERYTHING: [&str; 9] = [
    "controller.evictPods=true",
    "controller.reCreate=true",
    "controller.openkruise=true",
    "controller.replaceSets=true",
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

fn remove(object: &mut Value, key: &str) {
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

async fn equals_deployed(cluster: &Cluster, values: &[&str], files: &[&str]) -> anyhow::Result<()> {
    let mut rendered = by_name(render(cluster, values).await?)?;
    for (name, object) in &mut rendered {
        match name.as_str() {
            // In `deploy/` only the object for retention has the setting.
            "ClusterAdmissionPolicy claim-rollout"
            | "ClusterAdmissionPolicy claim-rollout-claims"
            | "ClusterAdmissionPolicy claim-rollout-pods" => {
                remove(&mut object["spec"]["settings"], "retention");
            }
            "ConfigMap claim-rollout-settings" if values.contains(&WARN) => {
                let settings = &mut object["data"]["settings.yaml"];
                ensure!(settings["retention"] == "Warn", "{settings:#}");
                remove(settings, "retention");
            }
            _ => {}
        }
    }
    let deployed = deployed(files)?;
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&deployed), "{values:?}");
    for (name, expected) in &deployed {
        assert_eq!(&rendered[name], expected, "{values:?}: {name}");
    }
    Ok(())
}

async fn is_clean(cluster: &Cluster, values: &[&str]) -> anyhow::Result<()> {
    let path = folder();
    let path = path.to_str().context("a path in UTF-8")?;
    let set: Vec<&str> = values.iter().flat_map(|value| [flag(value), value]).collect();
    let output = cluster
        .run("helm", &[&["lint", "--strict", path], &set[..]].concat(), &[], "")
        .await?;
    assert!(output.success, "{values:?}: {output:?}");

    let objects = render(cluster, values).await?;
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let apply = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    let applied = cluster.kubectl(&apply, &list.to_string()).await?;
    assert!(applied.success && applied.stderr.is_empty(), "{values:?}: {applied:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn chart_renders_the_objects_of_deploy() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let namespace = cluster.kubectl(&["create", "namespace", "claim-rollout"], "").await?;
    ensure!(namespace.success, "{namespace:?}");
    let both = BOTH;
    let kubewarden = [&both[..], &KUBEWARDEN, &["policy-retention.yaml"]].concat();
    let builtin = [&both[..], &BUILTIN, &["webhook/retention.yaml"]].concat();
    equals_deployed(&cluster, &[WARN], &kubewarden).await?;
    equals_deployed(&cluster, &[WARN, "admission=builtin"], &builtin).await?;
    equals_deployed(&cluster, &["admission=none"], &both).await?;
    for (right, file) in [("evictPods", "evict-pods.yaml"), ("replaceSets", "replace-sets.yaml")] {
        let values = ["admission=none", &format!("controller.{right}=true")];
        equals_deployed(&cluster, &values, &[&both[..], &[file]].concat()).await?;
    }
    check_settings(&cluster).await?;
    check_objects(&cluster).await?;
    cluster.stop();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn helm_and_api_server_accept_each_mode() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let namespace = cluster.kubectl(&["create", "namespace", "claim-rollout"], "").await?;
    ensure!(namespace.success, "{namespace:?}");
    missing_api_fails_with_a_cure(&cluster).await?;
    foreign::define(&cluster).await?;
    is_clean(&cluster, &["onlyNamespace=default"]).await?;
    is_clean(&cluster, &["admission=builtin", "gate.enabled=false"]).await?;
    is_clean(&cluster, &["admission=builtin", "webhook.certManager.enabled=true"]).await?;
    for admission in ["admission=kubewarden", "admission=builtin", "admission=none"] {
        is_clean(&cluster, &[&EVERYTHING[..], &NETWORK[..], &[admission]].concat()).await?;
        is_clean(&cluster, &[admission]).await?;
    }
    restricted_level_admits_the_pods(&cluster).await?;
    cluster.stop();
    Ok(())
}
