//! The archives of the kubectl plugin, and the manifest with which krew installs them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::about::About;
use crate::archive::{Entry, gzip, tar};
use crate::artifact::sha256;

/// The template of krew-release-bot, from which the manifest is made.
pub(crate) const TEMPLATE: &str = ".krew.yaml";
const TAG: &str = "{{ .TagName }}";
/// Before each platform.
const ITEM: &str = "  - ";
const URI: &str = "{{addURIAndSha \"";

/// The file name of the archive for a platform, such as `linux-amd64`.
pub(crate) fn file_name(platform: &str) -> String {
    format!("claim-rollout-{platform}.tar.gz")
}

/// Completion, manual pages and the licence: the same on every platform.
///
/// # Errors
/// If `runnable`, the plugin for this machine, fails, or there are no manual pages.
pub(crate) fn companions(root: &Path, runnable: &Path, man: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut entries = vec![Entry::file("LICENSE", std::fs::read(root.join("LICENSE"))?)];
    for shell in ["bash", "zsh", "fish"] {
        let output = run(runnable, &["completion", shell])?;
        entries.push(Entry::file(format!("completion.{shell}"), output));
    }
    entries.extend(pages(man)?);
    Ok(entries)
}

fn pages(folder: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let file = file?;
        let name = file.file_name().into_string().ok().context("a name in UTF-8")?;
        entries.push(Entry::file(format!("man/{name}"), std::fs::read(file.path())?));
    }
    ensure!(!entries.is_empty(), "expected manual pages, but found none");
    Ok(entries)
}

fn run(program: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| program.display().to_string())?;
    ensure!(
        output.status.success(),
        "{} {}: {}",
        program.display(),
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

/// The archive for a platform.
pub(crate) fn archive(platform: &str, binary: &[u8], companions: &[Entry], about: &About) -> anyhow::Result<Vec<u8>> {
    let mut entries = companions.to_vec();
    entries.push(Entry::program(program(platform), binary));
    gzip(&tar(entries, about.epoch)?)
}

/// The file name of the plugin: kubectl finds it by this name.
fn program(platform: &str) -> &'static str {
    if platform.starts_with("windows-") {
        "kubectl-claim_rollout.exe"
    } else {
        "kubectl-claim_rollout"
    }
}

/// The manifest for the archives in `folder`. Platforms without an archive are left out.
///
/// # Errors
/// If the template has no platform of an archive that is there.
pub(crate) fn manifest(template: &str, folder: &Path, platforms: &[String], about: &About) -> anyhow::Result<String> {
    let (head, list) = template
        .split_once("  platforms:\n")
        .context("expected platforms in the template")?;
    let lines = head.lines().filter(|line| !line.starts_with('#'));
    let mut manifest: String = lines.flat_map(|line| [line, "\n"]).collect();
    manifest.push_str("  platforms:\n");
    let mut found = 0;
    for entry in list.split(ITEM).filter(|entry| !entry.is_empty()) {
        let Some(platform) = platforms.iter().find(|platform| entry.contains(&file_name(platform))) else {
            continue;
        };
        found += 1;
        let entry = with_checksum(entry.trim_end(), &folder.join(file_name(platform)))?;
        manifest.extend([ITEM, &entry, "\n"]);
    }
    ensure!(
        found == platforms.len(),
        "expected {} platforms in {TEMPLATE}, but found {found}",
        platforms.len()
    );
    Ok(manifest.replace(TAG, &about.tag()))
}

/// Replaces `{{addURIAndSha "URI" .TagName }}`.
fn with_checksum(entry: &str, archive: &Path) -> anyhow::Result<String> {
    let (before, rest) = entry.split_once(URI).context("expected addURIAndSha in the template")?;
    let (uri, after) = rest
        .split_once("\" .TagName }}")
        .context("expected .TagName after the URI")?;
    let bytes = std::fs::read(archive).with_context(|| archive.display().to_string())?;
    Ok(format!("{before}uri: {uri}\n    sha256: {}{after}", sha256(&bytes)))
}
