//! The image: one layer with the static binary and the name of its user, and nothing else.

use serde_json::json;

use crate::about::About;
use crate::archive::{Entry, gzip, tar};
use crate::artifact::{Artifact, Blob, sha256};
use crate::elf;

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// The numbers that distroless images use for `nonroot`.
const USER: &str = "65532:65532";
const PASSWD: &str = "nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
const GROUP: &str = "nonroot:x:65532:\n";
const TITLE: &str = "claim-rollout";
const DESCRIPTION: &str = "The controller, the webhook and the commands of claim-rollout";

/// The index of the images with these binaries, in the order of their architectures.
///
/// # Errors
/// If a binary is not static, or two are for the same architecture.
pub(crate) fn artifact(binaries: &[Vec<u8>], about: &About) -> anyhow::Result<Artifact> {
    let mut platforms = Vec::new();
    for binary in binaries {
        let architecture = elf::static_architecture(binary)?;
        platforms.push((format!("linux/{architecture}"), image(binary, architecture, about)?));
    }
    platforms.sort_by(|one, other| one.0.cmp(&other.0));
    anyhow::ensure!(
        platforms.windows(2).all(|pair| pair[0].0 != pair[1].0),
        "expected one binary for each architecture, but found two for the same"
    );
    Artifact::index(platforms, &about.annotations(TITLE, DESCRIPTION)?)
}

fn image(binary: &[u8], architecture: &str, about: &About) -> anyhow::Result<Artifact> {
    let files = vec![
        Entry::program("claim-rollout", binary),
        Entry::file("etc/group", GROUP),
        Entry::file("etc/passwd", PASSWD),
    ];
    let archive = tar(files, about.epoch)?;
    let annotations = about.annotations(TITLE, DESCRIPTION)?;
    let created = about.created()?;
    let config = json!({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {"User": USER, "Entrypoint": ["/claim-rollout"], "WorkingDir": "/", "Labels": annotations},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&archive))]},
        "history": [{"created": created, "created_by": "hack/oci"}],
    });
    Artifact::with_layer(
        Blob::new(CONFIG, serde_json::to_vec(&config)?),
        Blob::new(LAYER, gzip(&archive)?),
        &annotations,
    )
}
