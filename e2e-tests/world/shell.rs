//! Commands that a user types into a shell.

use std::path::Path;

use anyhow::Context as _;

use crate::world::installation::binary;
use crate::world::{Cluster, Output};

/// Runs a command in a shell of the administrator in `folder`, with the tools of the cluster, `claim-rollout` and
/// `~/.local/bin` on its path. `stdout` gets all output, in the order of a terminal.
pub(crate) async fn typed(cluster: &Cluster, folder: &Path, command: &str) -> anyhow::Result<Output> {
    let binary = binary()?;
    let (home, bin) = (cluster.folder().join(".local/bin"), cluster.bin_folder());
    let folders = [&home, bin, binary.parent().context("a folder")?].map(|folder| folder.display().to_string());
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folders.join(":"));
    let line = format!("exec 2>&1; cd '{}' || exit\n{command}", folder.display());
    cluster.run("/bin/sh", &["-c", &line], &[("PATH", &path)], "").await
}
