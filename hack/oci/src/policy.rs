//! The policy: one layer of WebAssembly, an empty configuration, and the annotations of its metadata (`kwctl push`).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use oci_client::client::{Config, ImageLayer};
use serde_json::Value;

use crate::Artifact;

const LAYER: &str = "application/vnd.wasm.content.layer.v1+wasm";
const CONFIG: &str = "application/vnd.wasm.config.v1+json";

/// The policy in this file.
///
/// # Errors
/// If the module has no metadata: policy-server would not load it.
pub(crate) fn artifact(file: &Path, metadata: &Path) -> anyhow::Result<Artifact> {
    let module = std::fs::read(file).with_context(|| file.display().to_string())?;
    let carries = module.windows(SECTION.len()).any(|window| window == SECTION);
    ensure!(
        module.starts_with(b"\0asm"),
        "expected a WebAssembly module, but found another file"
    );
    ensure!(
        carries,
        "expected a module with Kubewarden's metadata inside, but found none: `make policy.wasm`"
    );
    let text = std::fs::read_to_string(metadata).with_context(|| metadata.display().to_string())?;
    let annotations = annotations(&serde_saphyr::from_str(&text)?);
    let layer = ImageLayer::new(module, LAYER.to_owned(), None);
    Ok(Artifact::new(
        layer,
        Config::new(b"{}".to_vec(), CONFIG.to_owned(), None),
        annotations,
    ))
}

/// The custom section of the metadata.
const SECTION: &[u8] = b"io.kubewarden.metadata";

/// The annotations of one line: a registry shows them in a table.
fn annotations(metadata: &Value) -> BTreeMap<String, String> {
    let all = metadata["annotations"].as_object().into_iter().flatten();
    let lines = all.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.trim().to_owned())));
    let mut annotations: BTreeMap<String, String> = lines.filter(|(_, value)| !value.contains('\n')).collect();
    if let Some(source) = annotations.get("io.kubewarden.policy.source").cloned() {
        annotations.insert("org.opencontainers.image.source".to_owned(), source);
    }
    annotations
}
