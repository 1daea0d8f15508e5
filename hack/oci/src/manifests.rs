//! The manifests for `kubectl apply`: what hack/manifests makes of the chart, with image and policy pinned by their
//! digests.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// What the manifests pin.
pub(crate) struct Digests {
    pub(crate) image: String,
    pub(crate) policy: String,
}

/// Writes the manifests into the folder.
///
/// # Errors
/// If helm fails, or a digest is not in a manifest.
pub(crate) fn write(root: &Path, helm: &Path, folder: &Path, digests: &Digests) -> anyhow::Result<()> {
    let script = std::path::absolute(root.join("hack/manifests"))?;
    let output = Command::new(&script)
        .arg(folder)
        .args(["--set", &format!("image.digest={}", digests.image)])
        .args(["--set", &format!("policy.image.digest={}", digests.policy)])
        .env("HELM", helm)
        .output()
        .with_context(|| script.display().to_string())?;
    ensure!(
        output.status.success(),
        "{}: {}",
        script.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    for (name, pinned) in [
        ("install-kubewarden.yaml", [&digests.image, &digests.policy]),
        ("install-builtin.yaml", [&digests.image, &digests.image]),
    ] {
        let text = std::fs::read_to_string(folder.join(name)).context(name)?;
        for digest in pinned {
            ensure!(text.contains(digest.as_str()), "{name} does not pin {digest}");
        }
    }
    Ok(())
}
