//! What a registry stores: blobs, named by their digests, and manifests that list them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The media type of a manifest.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of an index, which lists a manifest for each platform.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Annotations of a manifest.
pub(crate) type Annotations = BTreeMap<String, String>;

/// Bytes with their media type and digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) bytes: Vec<u8>,
}

impl Blob {
    /// Computes the digest.
    pub(crate) fn new(media_type: &str, bytes: Vec<u8>) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: format!("sha256:{}", sha256(&bytes)),
            bytes,
        }
    }

    /// The entry for this blob in a manifest.
    pub(crate) fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest, "size": self.bytes.len()})
    }
}

/// A manifest with the blobs that it lists, or an index with the manifests that it lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Artifact {
    pub(crate) manifest: Blob,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) children: Vec<Artifact>,
}

impl Artifact {
    /// A manifest with one layer.
    pub(crate) fn with_layer(config: Blob, layer: Blob, annotations: &Annotations) -> anyhow::Result<Self> {
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(),
            "layers": [layer.descriptor()],
            "annotations": annotations,
        });
        Ok(Self {
            manifest: Blob::new(MANIFEST, serde_json::to_vec(&manifest)?),
            blobs: vec![config, layer],
            children: Vec::new(),
        })
    }

    /// An index of manifests, each with its platform, such as `linux/amd64`.
    pub(crate) fn index(platforms: Vec<(String, Self)>, annotations: &Annotations) -> anyhow::Result<Self> {
        let mut entries = Vec::new();
        let mut children = Vec::new();
        for (platform, child) in platforms {
            let (os, architecture) = platform.split_once('/').context("expected OS/ARCHITECTURE")?;
            let mut entry = child.manifest.descriptor();
            entry["platform"] = json!({"os": os, "architecture": architecture});
            entries.push(entry);
            children.push(child);
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": entries,
            "annotations": annotations,
        });
        Ok(Self {
            manifest: Blob::new(INDEX, serde_json::to_vec(&index)?),
            blobs: Vec::new(),
            children,
        })
    }
}

/// The SHA-256 of these bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
