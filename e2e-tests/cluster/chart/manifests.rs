//! The manifests that are made from the chart, for `kubectl apply`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::deployed::{BOTH, BUILTIN, KUBEWARDEN, by_name, deployed};
use super::foreign;
use crate::world::repository::root;
use crate::world::{Cluster, Options};

/// A file, and the files of `deploy/` with the same objects.
const FILES: [(&str, &[&str]); 2] = [
    ("install-kubewarden.yaml", &KUBEWARDEN),
    ("install-builtin.yaml", &BUILTIN),
];

/// Runs hack/manifests.
pub(crate) fn make(cluster: &Cluster, folder: &Path) -> anyhow::Result<()> {
    let output = Command::new(root().join("hack/manifests"))
        .arg(folder)
        .env("HELM", cluster.bin_folder().join("helm"))
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// The objects of a text.
fn objects(text: &str) -> anyhow::Result<Vec<Value>> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(objects.into_iter().filter(|object| !object.is_null()).collect())
}

/// What kubectl prints about a file.
async fn applied(cluster: &Cluster, path: &str) -> anyhow::Result<String> {
    let applied = cluster.kubectl(&["apply", "-f", path], "").await?;
    ensure!(applied.success && applied.stderr.is_empty(), "{path}: {applied:?}");
    Ok(applied.stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn install_manifests_hold_the_objects_of_deploy() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::without_controllers()).await?;
    let folder = cluster.folder().join("dist");
    make(&cluster, &folder)?;
    foreign::define(&cluster).await?;
    for (file, files) in FILES {
        let text = std::fs::read_to_string(folder.join(file))?;
        ensure!(!text.contains("Helm") && !text.contains("helm.sh/"), "{file}");
        let expected = deployed(&[&["namespace.yaml"][..], &BOTH[..], files].concat())?;
        let found = by_name(objects(&text)?)?;
        let names = found.keys().collect::<Vec<_>>();
        assert_eq!(names, expected.keys().collect::<Vec<_>>(), "{file}");
        for (name, object) in &expected {
            assert_eq!(&found[name], object, "{file}: {name}");
        }

        let path = folder.join(file);
        let path = path.to_str().context("a path in UTF-8")?;
        let first = applied(&cluster, path).await?;
        let again = applied(&cluster, path).await?;
        // The objects for both ways are there from the first file.
        let new = first.lines().filter(|line| line.ends_with(" created")).count();
        ensure!(new == expected.len() || file == FILES[1].0, "{file}: {first}");
        ensure!(!again.contains(" created"), "{file}: {again}");
    }
    cluster.stop();
    Ok(())
}
