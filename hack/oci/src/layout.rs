//! A release on disk: an OCI image layout, whose index names each artifact with the reference under which it is pushed.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::artifact::{Artifact, Blob, INDEX, MANIFEST};

/// The annotation with the reference.
const REFERENCE: &str = "org.opencontainers.image.ref.name";

/// An artifact and its reference with a tag, such as `ghcr.io/claim-rollout/policy:v0.1.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) reference: String,
    pub(crate) artifact: Artifact,
}

/// Writes the layout into an empty folder.
///
/// # Errors
/// If the folder exists.
pub(crate) fn write(folder: &Path, all: &[Named]) -> anyhow::Result<()> {
    std::fs::create_dir(folder).with_context(|| folder.display().to_string())?;
    let blobs = folder.join("blobs/sha256");
    std::fs::create_dir_all(&blobs)?;
    let mut entries = Vec::new();
    for Named { reference, artifact } in all {
        let mut entry = artifact.manifest.descriptor();
        entry["annotations"] = json!({REFERENCE: reference});
        entries.push(entry);
        keep(folder, artifact)?;
    }
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    std::fs::write(folder.join("index.json"), serde_json::to_vec_pretty(&index)?)?;
    std::fs::write(
        folder.join("oci-layout"),
        json!({"imageLayoutVersion": "1.0.0"}).to_string(),
    )?;
    Ok(())
}

fn keep(folder: &Path, artifact: &Artifact) -> anyhow::Result<()> {
    for blob in artifact.blobs.iter().chain([&artifact.manifest]) {
        std::fs::write(path(folder, &blob.digest)?, &blob.bytes)?;
    }
    artifact.children.iter().try_for_each(|child| keep(folder, child))
}

/// Reads a layout that [`write`] has written.
///
/// # Errors
/// If a blob is missing, or is not what its digest names.
pub(crate) fn read(folder: &Path) -> anyhow::Result<Vec<Named>> {
    let index = folder.join("index.json");
    let text = std::fs::read(&index).with_context(|| format!("{}: `make release` writes it", index.display()))?;
    let index: Value = serde_json::from_slice(&text)?;
    let mut all = Vec::new();
    for entry in list(&index, "manifests")? {
        let reference = entry["annotations"][REFERENCE]
            .as_str()
            .context("expected a reference")?;
        all.push(Named {
            reference: reference.to_owned(),
            artifact: artifact(folder, entry)?,
        });
    }
    Ok(all)
}

fn artifact(folder: &Path, descriptor: &Value) -> anyhow::Result<Artifact> {
    let manifest = blob(folder, descriptor)?;
    let content: Value = serde_json::from_slice(&manifest.bytes)?;
    let (mut blobs, mut children) = (Vec::new(), Vec::new());
    if manifest.media_type == MANIFEST {
        for descriptor in list(&content, "layers")?.iter().chain([&content["config"]]) {
            blobs.push(blob(folder, descriptor)?);
        }
        // As it was built: the configuration first.
        blobs.rotate_right(1);
    } else {
        for descriptor in list(&content, "manifests")? {
            children.push(artifact(folder, descriptor)?);
        }
    }
    Ok(Artifact {
        manifest,
        blobs,
        children,
    })
}

fn blob(folder: &Path, descriptor: &Value) -> anyhow::Result<Blob> {
    let field = |name: &str| {
        descriptor[name]
            .as_str()
            .with_context(|| format!("expected a field {name}"))
    };
    let (media_type, digest) = (field("mediaType")?, field("digest")?);
    let path = path(folder, digest)?;
    let blob = Blob::new(
        media_type,
        std::fs::read(&path).with_context(|| path.display().to_string())?,
    );
    ensure!(blob.digest == digest, "expected {digest}, but found {}", blob.digest);
    Ok(blob)
}

fn path(folder: &Path, digest: &str) -> anyhow::Result<PathBuf> {
    let name = digest.strip_prefix("sha256:").context("expected a digest of SHA-256")?;
    ensure!(
        name.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "expected a digest, but found {digest}"
    );
    Ok(folder.join("blobs/sha256").join(name))
}

fn list<'a>(value: &'a Value, field: &str) -> anyhow::Result<&'a Vec<Value>> {
    value[field]
        .as_array()
        .with_context(|| format!("expected a list {field}"))
}
