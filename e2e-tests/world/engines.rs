//! Programs of other projects, built from their Go modules in `engines/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use tokio::sync::Mutex;

/// The folders of what was built.
static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::const_new(BTreeMap::new());

/// Builds the programs of an engine if they are not built yet. Returns their folder.
pub(crate) async fn build(engine: &str) -> anyhow::Result<PathBuf> {
    let mut built = BUILT.lock().await;
    if let Some(folder) = built.get(engine) {
        return Ok(folder.clone());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/build.sh");
    let output = tokio::process::Command::new(script).arg(engine).output().await?;
    ensure!(
        output.status.success(),
        "{engine}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    built.insert(engine.to_owned(), folder.clone());
    Ok(folder)
}
