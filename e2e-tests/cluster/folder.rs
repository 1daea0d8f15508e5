//! The folder of one control plane: certificates, tokens, data and logs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// How the folders are recognised in the folder for temporary files.
const PREFIX: &str = "claim-rollout-e2e-";
/// Holds the process id of the program the folder belongs to.
const OWNER: &str = "owner";
/// Marks a folder that was left for somebody to read.
const KEPT: &str = "kept";

/// Makes a fresh folder, after removing what earlier programs left behind because they were killed.
pub(super) fn create() -> anyhow::Result<TempDir> {
    sweep();
    // For nobody else's eyes: the tokens are in it.
    let private = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir();
    let folder = folder.context("making the folder of a control plane")?;
    std::fs::write(folder.path().join(OWNER), std::process::id().to_string())?;
    Ok(folder)
}

/// Lets the folder stay when its [`TempDir`] is dropped.
pub(super) fn keep(folder: &mut TempDir) {
    folder.disable_cleanup(true);
    // Only spares the folder from the next sweep; where it cannot be written nothing is lost but that.
    let _ = std::fs::write(folder.path().join(KEPT), "");
}

/// Removes folders whose owner is dead. Best effort: a folder that resists is somebody else's.
fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for folder in entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
    {
        let folder = folder.path();
        let abandoned = std::fs::read_to_string(folder.join(OWNER))
            .is_ok_and(|owner| !owner.is_empty() && !Path::new("/proc").join(owner).exists());
        if abandoned && !folder.join(KEPT).exists() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
