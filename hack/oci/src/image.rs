//! The image: one layer with the binary and its libraries, and nothing else. Equal files make an equal digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use oci_client::client::{Config, ImageLayer};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::Artifact;

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// As in the Dockerfile.
const USER: &str = "65532:65532";

/// The image with this binary, for the architecture of this machine.
///
/// # Errors
/// If the binary or one of its libraries cannot be read.
pub(crate) fn artifact(binary: &Path) -> anyhow::Result<Artifact> {
    let mut files = vec![(PathBuf::from("claim-rollout"), binary.to_owned())];
    for library in libraries(binary)? {
        files.push((library.strip_prefix("/").unwrap_or(&library).to_owned(), library));
    }
    let archive = archive(&files)?;
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut compressed, &archive)?;
    let layer = ImageLayer::new(compressed.finish()?, LAYER.to_owned(), None);
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let digest: String = Sha256::digest(&archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {"User": USER, "Entrypoint": ["/claim-rollout"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
    });
    let config = Config::new(serde_json::to_vec(&config)?, CONFIG.to_owned(), None);
    let annotations = [
        ("org.opencontainers.image.title", "claim-rollout"),
        ("org.opencontainers.image.licenses", "Apache-2.0"),
    ];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok(Artifact::new(layer, config, BTreeMap::from(annotations)))
}

/// The libraries that the loader would load, and the loader, with the paths at which the loader searches them.
fn libraries(binary: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(binary).output().context("failed to run ldd")?;
    ensure!(
        output.status.success(),
        "ldd {}: {}",
        binary.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    let mut paths: Vec<PathBuf> = text
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    paths.sort();
    paths.dedup();
    ensure!(!paths.is_empty(), "expected a binary with a C library, but found none");
    Ok(paths)
}

/// An archive of these files without any data that depends on the machine or the day.
fn archive(files: &[(PathBuf, PathBuf)]) -> anyhow::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, source) in files {
        let content = std::fs::read(source).with_context(|| source.display().to_string())?;
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(content.len())?);
        header.set_mode(0o755);
        header.set_mtime(0);
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}
