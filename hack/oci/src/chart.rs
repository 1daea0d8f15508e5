//! The chart, packed as `helm package` packs it, and as `helm push` pushes it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::about::About;
use crate::archive::{Entry, gzip, tar};
use crate::artifact::{Artifact, Blob};

const LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const NAME: &str = "claim-rollout";

/// The archive of the chart in this folder.
///
/// # Errors
/// If the version in Chart.yaml is not that of the release.
pub(crate) fn package(folder: &Path, about: &About) -> anyhow::Result<Vec<u8>> {
    let chart = metadata(folder)?;
    ensure!(
        chart["version"] == about.version.as_str(),
        "expected version {} in Chart.yaml, but found {}",
        about.version,
        chart["version"]
    );
    let mut entries = Vec::new();
    for path in files(folder)? {
        let name = path
            .strip_prefix(folder)?
            .to_str()
            .context("a path in UTF-8")?
            .to_owned();
        let content = std::fs::read(&path).with_context(|| path.display().to_string())?;
        entries.push(Entry::file(format!("{NAME}/{name}"), content));
    }
    gzip(&tar(entries, about.epoch)?)
}

/// The artifact with this archive. The configuration is Chart.yaml as JSON.
pub(crate) fn artifact(folder: &Path, archive: Vec<u8>, about: &About) -> anyhow::Result<Artifact> {
    let chart = metadata(folder)?;
    let description = chart["description"].as_str().unwrap_or_default();
    Artifact::with_layer(
        Blob::new(CONFIG, serde_json::to_vec(&chart)?),
        Blob::new(LAYER, archive),
        &about.annotations(NAME, description)?,
    )
}

fn metadata(folder: &Path) -> anyhow::Result<Value> {
    let path = folder.join("Chart.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_saphyr::from_str(&text)?)
}

/// All files below the folder.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}
