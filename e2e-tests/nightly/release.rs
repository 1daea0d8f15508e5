//! The quick start with the artifacts of a release: `make release-dry-run` runs this with the registry that it has pushed
//! to, and with the image and the policy that it has pulled from there.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::cluster::quick_start::stands::{Action, Handling, STAND_INS};
use crate::cluster::quick_start::walkthrough::{Kubewarden, Walkthrough};
use crate::cluster::quick_start::{DOCUMENT, FIRST, LAST, WITH_HELM, WITH_KUBEWARDEN, WITHOUT_KUBEWARDEN};
use crate::world::book::{Book, Command};

/// Where the document downloads from.
const DOWNLOADS: &str = "https://github.com/claim-rollout/claim-rollout/releases/latest/download/";
const CHARTS: &str = "oci://ghcr.io/";

/// The kinds whose objects name what they run, and where.
const IMAGE: (&str, &str) = ("deployments", "/spec/template/spec/containers/0/image");
const MODULE: (&str, &str) = ("clusteradmissionpolicies", "/spec/module");

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs the artifacts of a release: make release-dry-run"]
async fn kubewarden_manifest_installs_pinned_artifacts() -> anyhow::Result<()> {
    walk(WITH_KUBEWARDEN, Kubewarden::IsThere, &[IMAGE, MODULE], Release::pinned).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs the artifacts of a release: make release-dry-run"]
async fn builtin_manifest_installs_pinned_artifacts() -> anyhow::Result<()> {
    walk(WITHOUT_KUBEWARDEN, Kubewarden::IsNot, &[IMAGE], Release::pinned).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs the artifacts of a release: make release-dry-run"]
async fn chart_of_registry_installs_its_version() -> anyhow::Result<()> {
    walk(WITH_HELM, Kubewarden::IsThere, &[IMAGE, MODULE], Release::tagged).await
}

/// Types the quick start with this way to install, and checks what the objects in the cluster name.
async fn walk(
    install: &str,
    kubewarden: Kubewarden,
    names: &[(&str, &str)],
    expected: fn(&Release) -> BTreeSet<String>,
) -> anyhow::Result<()> {
    let release = Release::read()?;
    let mut book = Book::under(&[FIRST, install, LAST], DOCUMENT)?;
    let mut walkthrough = Walkthrough::begin(kubewarden).await?;
    let mut downloads = 0;
    while let Some(command) = book.next() {
        let printed = match release.typed(&command.typed) {
            Some((typed, then)) => {
                downloads += 1;
                println!("$ {typed}");
                let printed = walkthrough
                    .types(&Command {
                        typed,
                        ..command.clone()
                    })
                    .await?;
                walkthrough.does(then).await?;
                printed
            }
            None => walkthrough.types(&command).await?,
        };
        book.compare(&command, &printed);
    }
    book.end()?;
    assert_eq!(downloads, 2, "the plugin, and a manifest or the chart");
    let expected = expected(&release);
    for (kind, path) in names {
        let typed = format!("kubectl get {kind} -n claim-rollout -o json");
        let shown = String::new();
        let list: Value = serde_json::from_str(&walkthrough.types(&Command { typed, shown }).await?)?;
        let objects = list["items"].as_array().filter(|objects| !objects.is_empty());
        for object in objects.with_context(|| format!("expected {kind}, but found none"))? {
            let name = object.pointer(path).and_then(Value::as_str).context("a name")?;
            let name = name.strip_prefix("registry://").unwrap_or(name);
            ensure!(
                expected.contains(name),
                "{kind}: expected one of {expected:?}, but found {name}"
            );
            println!("{kind} {}: {name}", object["metadata"]["name"]);
        }
    }
    walkthrough.end().await
}

/// What `make release-dry-run` has made and pushed.
struct Release {
    /// The files to download.
    folder: PathBuf,
    /// The host and port of the registry.
    registry: String,
    /// Each reference of images.txt without its tag, its tag, and its digest.
    references: Vec<[String; 3]>,
}

impl Release {
    fn read() -> anyhow::Result<Self> {
        let variable =
            |name: &str| std::env::var(name).with_context(|| format!("{name}: make release-dry-run sets it"));
        let folder = PathBuf::from(variable("CLAIM_ROLLOUT_RELEASE")?);
        let images = std::fs::read_to_string(folder.join("images.txt"))?;
        let references = images.lines().map(|line| {
            let (tagged, digest) = line.split_once('@')?;
            let (name, tag) = tagged.rsplit_once(':')?;
            Some([name, tag, digest].map(str::to_owned))
        });
        Ok(Self {
            folder,
            registry: variable("CLAIM_ROLLOUT_REGISTRY")?,
            references: references.collect::<Option<_>>().context("expected tags and digests")?,
        })
    }

    fn pinned(&self) -> BTreeSet<String> {
        let all = self.references.iter();
        all.map(|[name, _, digest]| format!("{name}@{digest}")).collect()
    }

    fn tagged(&self) -> BTreeSet<String> {
        let all = self.references.iter();
        all.map(|[name, tag, _]| format!("{name}:{tag}")).collect()
    }

    /// A command that downloads, with these artifacts instead, and what follows it; none for other commands.
    fn typed(&self, command: &str) -> Option<(String, Action)> {
        let stand_in = STAND_INS.iter().find(|stand_in| stand_in.typed == command)?;
        let folder = self.folder.display();
        if command.contains(CHARTS) {
            let here = format!("oci://{}/", self.registry);
            let Handling::As(_, then) = stand_in.how else {
                return None;
            };
            return Some((format!("{} --plain-http", command.replace(CHARTS, &here)), then));
        }
        match stand_in.how {
            _ if !command.contains(DOWNLOADS) => None,
            Handling::As(_, then) => Some((command.replace(DOWNLOADS, &format!("{folder}/")), then)),
            _ => Some((
                command.replace(DOWNLOADS, &format!("file://{folder}/")),
                Action::Nothing,
            )),
        }
    }
}
