//! The policy: one layer of WebAssembly, an empty configuration, and the annotations of its metadata (`kwctl push`).

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::about::About;
use crate::artifact::{Annotations, Artifact, Blob};

const LAYER: &str = "application/vnd.wasm.content.layer.v1+wasm";
const CONFIG: &str = "application/vnd.wasm.config.v1+json";
/// The custom section of the metadata.
const SECTION: &[u8] = b"io.kubewarden.metadata";

/// The policy in these bytes, with the annotations of policy-metadata.yml.
///
/// # Errors
/// If the module has no metadata: policy-server would not load it.
pub(crate) fn artifact(module: &[u8], metadata: &Path, about: &About) -> anyhow::Result<Artifact> {
    ensure!(
        module.starts_with(b"\0asm"),
        "expected a WebAssembly module, but found another file"
    );
    ensure!(
        module.windows(SECTION.len()).any(|window| window == SECTION),
        "expected a module with Kubewarden's metadata inside, but found none: `make policy.wasm`"
    );
    let text = std::fs::read_to_string(metadata).with_context(|| metadata.display().to_string())?;
    let metadata: Value = serde_saphyr::from_str(&text)?;
    let description = &metadata["annotations"]["io.kubewarden.policy.description"];
    let mut annotations = about.annotations("claim-rollout policy", description.as_str().unwrap_or_default())?;
    annotations.extend(lines(&metadata));
    Artifact::with_layer(
        Blob::new(CONFIG, b"{}".to_vec()),
        Blob::new(LAYER, module.to_vec()),
        &annotations,
    )
}

/// The annotations of one line: a registry shows them in a table.
fn lines(metadata: &Value) -> Annotations {
    let all = metadata["annotations"].as_object().into_iter().flatten();
    let lines = all.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.trim().to_owned())));
    lines.filter(|(_, value)| !value.contains('\n')).collect()
}
