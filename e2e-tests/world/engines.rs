//! Programs of other projects, built from their Go modules in `engines/`.

use std::path::{Path, PathBuf};

use anyhow::ensure;

/// Builds the programs of an engine if they are not built yet. Returns their folder.
pub(crate) async fn build(engine: &str) -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/build.sh");
    let output = tokio::process::Command::new(script).arg(engine).output().await?;
    ensure!(
        output.status.success(),
        "{engine}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}
