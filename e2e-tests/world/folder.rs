//! The folder of one control plane: certificates, tokens, data and logs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// The prefix of the folder names in the folder for temporary files.
const PREFIX: &str = "claim-rollout-e2e-";
/// The file with the process id of the program that owns the folder.
const OWNER: &str = "owner";
/// The file that marks a folder that is kept for reading.
const KEPT: &str = "kept";

/// Creates a folder. First removes the folders of programs that were killed.
pub(super) fn create() -> anyhow::Result<TempDir> {
    sweep();
    // The folder holds tokens.
    let private = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir();
    let folder = folder.context("making the folder of a control plane")?;
    std::fs::write(folder.path().join(OWNER), std::process::id().to_string())?;
    Ok(folder)
}

/// Keeps the folder when its [`TempDir`] is dropped.
pub(super) fn keep(folder: &mut TempDir) {
    folder.disable_cleanup(true);
    // The mark only spares the folder from the next sweep, so an error is harmless.
    let _ = std::fs::write(folder.path().join(KEPT), "");
}

/// Removes folders whose owner has ended. Best effort: a folder that cannot be removed belongs to another user.
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
