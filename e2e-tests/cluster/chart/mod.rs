//! `charts/claim-rollout`, rendered and installed by the real Helm.

mod deployed;
mod features;
mod foreign;
mod installed;
pub(crate) mod manifests;
mod rendered;
// A row is a line.
#[rustfmt::skip]
mod rows;
mod values;

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use crate::world::{Cluster, Output};

/// The folder of the chart.
fn folder() -> PathBuf {
    crate::world::repository::root().join("charts/claim-rollout")
}

/// `helm COMMAND… claim-rollout CHART` in the namespace of the controller, with these values. A value that begins with
/// `--` is a flag.
async fn helm(cluster: &Cluster, command: &[&str], values: &[&str]) -> anyhow::Result<Output> {
    let folder = folder();
    let folder = folder.to_str().context("a path in UTF-8")?;
    let place = [folder, "--namespace", "claim-rollout"];
    cluster
        .run("helm", &[command, &place, &flags(values)].concat(), &[], "")
        .await
}

/// The flags for values: `--set` reads an empty list as one empty text, and no maps.
fn flags<'v>(values: &[&'v str]) -> Vec<&'v str> {
    let flags = values.iter().map(|value| match value {
        flag if flag.starts_with("--") => vec![*flag],
        json if json.contains("=[") || json.contains("={\"") => vec!["--set-json", json],
        other => vec!["--set", other],
    });
    flags.flatten().collect()
}

/// Every object of the chart with these values.
async fn render(cluster: &Cluster, values: &[&str]) -> anyhow::Result<Vec<Value>> {
    let output = helm(cluster, &["template", "claim-rollout"], values).await?;
    anyhow::ensure!(output.success, "{values:?}: {}", output.stderr);
    let objects: Vec<Value> = serde_saphyr::from_multiple(&output.stdout)?;
    Ok(objects.into_iter().filter(|object| !object.is_null()).collect())
}
