//! `charts/claim-rollout`, rendered and installed by the real Helm.

mod deployed;
mod features;
mod foreign;
mod installed;
pub(crate) mod manifests;
mod objects;
mod rendered;
mod security;
mod settings;

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use crate::world::{Cluster, Output};

/// The folder of the chart.
fn folder() -> PathBuf {
    crate::world::repository::root().join("charts/claim-rollout")
}

/// `helm COMMAND… claim-rollout CHART` in the namespace of the controller, with these values.
async fn helm(cluster: &Cluster, command: &[&str], values: &[&str]) -> anyhow::Result<Output> {
    let folder = folder();
    let folder = folder.to_str().context("a path in UTF-8")?;
    let set: Vec<&str> = values.iter().flat_map(|value| [flag(value), value]).collect();
    let place = [folder, "--namespace", "claim-rollout"];
    cluster.run("helm", &[command, &place, &set].concat(), &[], "").await
}

/// The flag for a value: `--set` reads an empty list as one empty text, and no maps.
fn flag(value: &str) -> &'static str {
    if value.contains("=[") || value.contains("={\"") {
        "--set-json"
    } else {
        "--set"
    }
}

/// Every object of the chart with these values.
async fn render(cluster: &Cluster, values: &[&str]) -> anyhow::Result<Vec<Value>> {
    let output = helm(cluster, &["template", "claim-rollout"], values).await?;
    anyhow::ensure!(output.success, "{values:?}: {}", output.stderr);
    let objects: Vec<Value> = serde_saphyr::from_multiple(&output.stdout)?;
    Ok(objects.into_iter().filter(|object| !object.is_null()).collect())
}
