//! The manifests that are made from the chart, for `kubectl apply`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::deployed::{BOTH, BUILTIN, KUBEWARDEN, by_name, deployed};
use crate::world::repository::root;
use crate::world::{Cluster, policy_host};

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

/// The files hold the objects of `deploy/`, and kubectl applies them, also again.
pub(super) async fn install_manifests_hold_the_objects_of_deploy(cluster: &Cluster) -> anyhow::Result<()> {
    let folder = cluster.folder().join("dist");
    make(cluster, &folder)?;
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
        let first = applied(cluster, path).await?;
        ensure!(first.lines().count() == expected.len(), "{file}: {first}");
        let again = applied(cluster, path).await?;
        ensure!(!again.contains(" created"), "{file}: {again}");
    }
    Ok(())
}

/// The folders of `deploy/`, for `kubectl apply -k`. What needs a container runtime or Kubewarden is not applied.
pub(super) async fn folders_of_deploy_are_accepted(cluster: &Cluster) -> anyhow::Result<()> {
    for folder in ["controller", "guard", "namespaced", "webhook"] {
        let path = policy_host::deployed(folder);
        let line = format!("apply --server-side --dry-run=server -k {}", path.display());
        let applied = cluster.typed(&line).await?;
        ensure!(applied.stderr.is_empty(), "{folder}: {applied:?}");
    }
    let everything = policy_host::deployed("");
    let built = cluster.typed(&format!("kustomize {}", everything.display())).await?;
    ensure!(built.stderr.is_empty(), "{built:?}");
    Ok(())
}
