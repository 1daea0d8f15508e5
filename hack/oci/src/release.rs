//! All files of a release, made from the binaries and the policy. Nothing is pushed here, and nothing is asked of a
//! network: the digests are known before anything is published.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::about::About;
use crate::artifact::sha256;
use crate::layout::{self, Named};
use crate::manifests::{self, Digests};
use crate::{chart, image, plugin, policy, sbom, version};

/// Where released artifacts are.
pub(crate) const REGISTRY: &str = "ghcr.io/claim-rollout";
const CHART: &str = "charts/claim-rollout";
const METADATA: &str = "policy-metadata.yml";

/// What a release is made from.
#[derive(Debug, clap::Args)]
pub(crate) struct Sources {
    /// The tree
    #[arg(long, default_value = ".")]
    pub(crate) root: PathBuf,
    /// The folder with PLATFORM/claim-rollout for each platform
    #[arg(long, default_value = "dist/bin")]
    pub(crate) binaries: PathBuf,
    /// The platforms, such as linux-amd64; those of Linux get into the image
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) platforms: Vec<String>,
    /// policy.wasm
    #[arg(long, default_value = "policy.wasm")]
    pub(crate) policy: PathBuf,
    /// A plugin that runs on this machine: it writes its completion
    #[arg(long)]
    pub(crate) plugin: PathBuf,
    /// The folder with the manual pages
    #[arg(long)]
    pub(crate) man: PathBuf,
    /// helm, which renders the chart
    #[arg(long, default_value = "helm")]
    pub(crate) helm: PathBuf,
    /// The folder to write to; its folders `oci` and `release` are replaced
    #[arg(long, default_value = "dist")]
    pub(crate) out: PathBuf,
}

/// Writes `oci`, the layout to push, and `release`, the files to download.
///
/// # Errors
/// If a binary is missing or not static, or the files of the tree disagree about the version.
pub(crate) fn build(sources: &Sources) -> anyhow::Result<()> {
    version::check(&sources.root, None)?;
    let about = About::tree(&sources.root)?;
    let (oci, files) = (sources.out.join("oci"), sources.out.join("release"));
    for folder in [&oci, &files] {
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
    }
    std::fs::create_dir_all(&files)?;

    let module = read(&sources.policy)?;
    let folder = sources.root.join(CHART);
    let package = chart::package(&folder, &about)?;
    let image = image::artifact(&linux(sources)?, &about)?;
    let policy = policy::artifact(&module, &sources.root.join(METADATA), &about)?;
    let digests = Digests {
        image: image.manifest.digest.clone(),
        policy: policy.manifest.digest.clone(),
    };
    let named = |path: &str, tag: &str, artifact| Named {
        reference: format!("{REGISTRY}/{path}:{tag}"),
        artifact,
    };
    let all = [
        named("policy", &about.tag(), policy),
        named("claim-rollout", &about.version, image),
        // Last, because it names the others.
        named(
            "charts/claim-rollout",
            &about.version,
            chart::artifact(&folder, package.clone(), &about)?,
        ),
    ];
    layout::write(&oci, &all)?;

    let write = |name: &str, content: &[u8]| std::fs::write(files.join(name), content).context(name.to_owned());
    write("policy.wasm", &module)?;
    write(&format!("claim-rollout-{}.tgz", about.version), &package)?;
    manifests::write(&sources.root, &sources.helm, &files, &digests)?;
    for subject in [sbom::BINARY, sbom::POLICY] {
        let name = format!("sbom-{}.spdx.json", subject.name);
        write(&name, &sbom::document(&subject, &sources.root, &about)?)?;
    }
    let companions = plugin::companions(&sources.root, &sources.plugin, &sources.man)?;
    for platform in &sources.platforms {
        let archive = plugin::archive(platform, &binary(sources, platform)?, &companions, &about)?;
        write(&plugin::file_name(platform), &archive)?;
    }
    let template = String::from_utf8(read(&sources.root.join(plugin::TEMPLATE))?)?;
    let krew = plugin::manifest(&template, &files, &sources.platforms, &about)?;
    write("claim-rollout.yaml", krew.as_bytes())?;
    write("images.txt", references(&all).as_bytes())?;
    let sums = checksums(&files)?;
    write("checksums.txt", sums.as_bytes())
}

/// A line for each reference, with its tag and its digest.
fn references(all: &[Named]) -> String {
    let lines = all.iter();
    lines
        .map(|named| format!("{}@{}\n", named.reference, named.artifact.manifest.digest))
        .collect()
}

/// The binaries for Linux.
fn linux(sources: &Sources) -> anyhow::Result<Vec<Vec<u8>>> {
    let platforms = sources
        .platforms
        .iter()
        .filter(|platform| platform.starts_with("linux-"));
    let binaries: Vec<Vec<u8>> = platforms
        .map(|platform| binary(sources, platform))
        .collect::<anyhow::Result<_>>()?;
    ensure!(
        !binaries.is_empty(),
        "expected a platform of Linux for the image, but found none"
    );
    Ok(binaries)
}

fn binary(sources: &Sources, platform: &str) -> anyhow::Result<Vec<u8>> {
    let name = if platform.starts_with("windows-") {
        "claim-rollout.exe"
    } else {
        "claim-rollout"
    };
    read(&sources.binaries.join(platform).join(name))
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

/// The checksums of all files in the folder, as `sha256sum --check` reads them.
fn checksums(folder: &Path) -> anyhow::Result<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().into_string().ok().context("a name in UTF-8")?);
    }
    names.sort();
    let lines = names
        .iter()
        .map(|name| Ok(format!("{}  {name}\n", sha256(&read(&folder.join(name))?))));
    lines.collect()
}
