//! The StatefulSets to plan.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use super::inputs::PlanTarget;
use super::manifest::{self, Documents};
use crate::cli::files;
use crate::cli::output::note;

/// The manifests, with the names of their files.
pub(super) fn manifests(files: &[PathBuf]) -> anyhow::Result<Vec<(String, Documents)>> {
    let read = |path: &PathBuf| {
        let source = path.display().to_string();
        let documents = manifest::read(&files::text(path)?).with_context(|| source.clone())?;
        Ok((source, documents))
    };
    files.iter().map(read).collect()
}

/// The sets to plan: those of the manifests, restricted to the given names if there are any; without a manifest, the
/// sets of these names.
///
/// # Errors
/// If a name is not in the manifests, or nothing is to be planned.
pub(super) fn targets(
    names: &[String],
    manifests: Vec<(String, Documents)>,
    named: Option<&str>,
    default: &str,
) -> anyhow::Result<Vec<PlanTarget>> {
    ensure!(
        !(manifests.is_empty() && names.is_empty()),
        "specify a manifest (-f web.yaml) or the name of a StatefulSet"
    );
    if manifests.is_empty() {
        let of_name = |name: &String| PlanTarget {
            namespace: default.to_owned(),
            name: name.clone(),
            manifest: None,
        };
        return Ok(names.iter().map(of_name).collect());
    }
    let mut targets = Vec::new();
    let mut others = Vec::new();
    for (source, documents) in manifests {
        others.extend(documents.others);
        for set in documents.sets {
            let name = set["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let own = set["metadata"]["namespace"].as_str();
            if let (Some(own), Some(named)) = (own, named)
                && own != named
            {
                bail!("{source}: StatefulSet {name}: expected namespace {named} (--namespace), but found {own}");
            }
            targets.push(PlanTarget {
                namespace: own.unwrap_or(default).to_owned(),
                name,
                manifest: Some((source.clone(), set)),
            });
        }
    }
    let or_nothing = |found: &[String]| {
        if found.is_empty() {
            "nothing".to_owned()
        } else {
            found.join(", ")
        }
    };
    ensure!(
        !targets.is_empty(),
        "expected a StatefulSet in the manifest, but found {}",
        or_nothing(&others)
    );
    if let Some(missing) = names
        .iter()
        .find(|name| targets.iter().all(|target| target.name != **name))
    {
        let found: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
        bail!(
            "expected StatefulSet {missing} in the manifest, but found {}",
            found.join(", ")
        );
    }
    targets.retain(|target| names.is_empty() || names.contains(&target.name));
    if !others.is_empty() {
        note(&format!("not planned: {}", others.join(", ")));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{manifests, targets};

    /// The namespace and the name of each StatefulSet of this manifest.
    fn planned(file: &Path, names: &[&str], named: Option<&str>) -> Result<Vec<(String, String)>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let manifests = manifests(&[file.to_owned()]).expect("manifests");
        let found = targets(&names, manifests, named, named.unwrap_or("current"));
        let found = found.map(|found| found.into_iter().map(|target| (target.namespace, target.name)));
        found.map(Iterator::collect).map_err(|error| error.to_string())
    }

    #[test]
    fn name_that_is_not_in_the_manifest_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("web.yaml");
        let set = |name: &str| format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}}}\n");
        std::fs::write(&file, format!("{}---\n{}", set("web"), set("db"))).expect("written");
        let missing = "expected StatefulSet cache in the manifest, but found web, db";
        for (names, expected) in [
            (&[][..], Ok("web db")),
            (&["db"], Ok("db")),
            (&["db", "web"], Ok("web db")),
            (&["web", "cache"], Err(missing)),
            (&["cache"], Err(missing)),
        ] {
            let found = planned(&file, names, None);
            let found = found.map(|found| found.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref().map_err(|error| &**error), expected, "{names:?}");
        }
    }

    /// As `kubectl apply` does.
    #[test]
    fn manifest_of_another_namespace_than_named_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("web.yaml");
        for (own, named, expected) in [
            ("", None, Ok("current")),
            ("shop", None, Ok("shop")),
            ("", Some("test"), Ok("test")),
            ("shop", Some("shop"), Ok("shop")),
            (
                "shop",
                Some("test"),
                Err("StatefulSet web: expected namespace test (--namespace), but found shop"),
            ),
        ] {
            let namespace = if own.is_empty() {
                String::new()
            } else {
                format!("  namespace: {own}\n")
            };
            let text = format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: web\n{namespace}");
            std::fs::write(&file, text).expect("written");
            match (planned(&file, &[], named), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found[0].0, expected, "{own:?} {named:?}"),
                (Err(error), Err(expected)) => assert!(error.ends_with(expected), "{error}"),
                (found, expected) => panic!("{own:?} {named:?}: {found:?}, {expected:?}"),
            }
        }
    }
}
