//! Safety guarantees of the controller, each a function over the writes in a namespace: S1 to S4, S8, S10 and S12. The
//! others need what the controller saw, or which Pods were Ready; scenarios check them where they are at stake.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::exceptions::Exceptions;
use super::written::Written;
use crate::world::installation::USER;
use crate::world::{Cluster, Entry};

/// The only writes that the controller may make.
const ALLOWED: [(&str, &str, &str); 13] = [
    ("persistentvolumeclaims", "", "patch"),
    ("statefulsets", "", "patch"),
    ("claimrollouts", "", "create"),
    ("claimrollouts", "", "patch"),
    ("claimrollouts", "status", "patch"),
    ("controllerrevisions", "", "create"),
    // A target that comes again becomes the newest one.
    ("controllerrevisions", "", "patch"),
    ("controllerrevisions", "", "delete"),
    // If the annotation `restart` asks for it.
    ("pods", "eviction", "create"),
    ("events", "", "create"),
    ("leases", "", "create"),
    ("leases", "", "update"),
    ("leases", "", "patch"),
];

/// The fields of an apply of a PVC.
const OF_CLAIMS: [&str; 9] = [
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.labels.",
    "metadata.annotations.",
    "spec.resources.requests.storage",
    "spec.volumeAttributesClassName",
];

/// The fields of a patch of a StatefulSet.
const OF_SETS: [&str; 6] = [
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.annotations.claim-rollout.io/staged",
    "metadata.annotations.claim-rollout.io/phase",
    "metadata.annotations.claim-rollout.io/ready",
    "metadata.annotations.claim-rollout.io/staged-at",
];

/// Checks these guarantees for everything that was ever written in any namespace of the cluster.
pub(crate) async fn every_namespace_keeps_them(cluster: &Cluster) -> anyhow::Result<()> {
    let mut written = BTreeMap::<String, Vec<Entry>>::new();
    let is_pretended = |entry: &Entry| entry.user == USER && entry.is_pretended();
    let entries = cluster.audit().await?.into_iter();
    for entry in entries.filter(|entry| !entry.namespace.is_empty() && !is_pretended(entry)) {
        written.entry(entry.namespace.clone()).or_default().push(entry);
    }
    ensure!(written.len() > 1, "the audit log has {} namespaces", written.len());
    let broken = written.into_iter().filter_map(|(namespace, entries)| {
        let kept = Written::new(entries, 0).keeps_every_invariant(cluster.exceptions.of(&namespace));
        kept.err().map(|error| format!("in {namespace}: {error:#}"))
    });
    let broken: Vec<String> = broken.collect();
    ensure!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}

impl Written {
    /// Checks these guarantees for everything that was ever written in the namespace.
    pub(crate) fn keeps_every_invariant(&self, but: Exceptions) -> anyhow::Result<()> {
        self.nothing_gets_smaller(but.recovers).context("S1")?;
        self.few_fields_are_written().context("S2")?;
        self.no_object_is_created_or_deleted(but.recreates).context("S3, S4")?;
        if !but.changed {
            self.no_claim_is_written_twice_per_staging().context("S8")?;
        }
        self.terminating_objects_are_not_written().context("S10")?;
        self.every_write_changes_something(but).context("S12")
    }

    /// S1: no PVC asks for less than before. If growth may be lowered, no PVC asks for less than its capacity.
    pub(crate) fn nothing_gets_smaller(&self, recovers: bool) -> anyhow::Result<()> {
        for (entry, before) in self.with_previous() {
            let after = entry.response.value();
            let (old, new) = (
                bytes(&before["spec"]["resources"]["requests"])?,
                bytes(&after["spec"]["resources"]["requests"])?,
            );
            let taken_back = recovers && bytes(&before["status"]["capacity"])? < new;
            ensure!(new >= old || taken_back, "{entry:?} lowered {old} to {new}");
        }
        Ok(())
    }

    /// S2: of PVCs only size, class, labels and annotations are written, of StatefulSets only annotations of ours.
    pub(crate) fn few_fields_are_written(&self) -> anyhow::Result<()> {
        for entry in self.by_us().filter(|entry| entry.verb != "delete") {
            let allowed: &[&str] = match (entry.resource.as_str(), entry.subresource.as_str()) {
                ("persistentvolumeclaims", "") => &OF_CLAIMS,
                ("statefulsets", "") => &OF_SETS,
                _ => continue,
            };
            let mut paths = Vec::new();
            leaves(&entry.request.value(), "", &mut paths);
            let may = |path: &&String| {
                let within = |&allowed: &&str| *path == allowed || allowed.ends_with('.') && path.starts_with(allowed);
                allowed.iter().any(within)
            };
            let other = paths.iter().find(|path| !may(path));
            ensure!(other.is_none(), "{entry:?} contains {other:?}");
        }
        Ok(())
    }

    /// S3 and S4: only allowed verbs, and every write of a PVC or a StatefulSet names the uid and version that it was
    /// decided for.
    pub(crate) fn no_object_is_created_or_deleted(&self, recreates: bool) -> anyhow::Result<()> {
        for entry in self.by_us() {
            let done = (entry.resource.as_str(), entry.subresource.as_str(), entry.verb.as_str());
            let deletes = recreates && done == ("persistentvolumeclaims", "", "delete");
            let takes_snapshot = recreates && done == ("volumesnapshots", "", "create");
            ensure!(deletes || takes_snapshot || ALLOWED.contains(&done), "{entry:?}");
            if deletes {
                let preconditions = &entry.request.value()["preconditions"];
                let named = ["uid", "resourceVersion"]
                    .iter()
                    .all(|key| preconditions[key].is_string());
                ensure!(named, "{entry:?} names {preconditions}");
                continue;
            }
            if matches!(done.0, "persistentvolumeclaims" | "statefulsets") {
                ensure!(entry.code != 201, "{entry:?} made it");
                let metadata = &entry.request.value()["metadata"];
                let named = ["uid", "resourceVersion"].iter().all(|key| metadata[key].is_string());
                ensure!(named, "{entry:?} names {metadata}");
            }
            if done.1 == "eviction" {
                let uid = &entry.request.value()["deleteOptions"]["preconditions"]["uid"];
                ensure!(uid.is_string(), "{entry:?} names no Pod");
            }
        }
        Ok(())
    }

    /// S8: a PVC is written once per staging.
    pub(crate) fn no_claim_is_written_twice_per_staging(&self) -> anyhow::Result<()> {
        let mut written = BTreeMap::new();
        let written_by_us = self.by_us().filter(|entry| is_claim(entry) && entry.succeeded());
        for entry in written_by_us.filter(|entry| entry.request.value()["metadata"]["labels"].is_object()) {
            let label = entry.request.value()["metadata"]["labels"]["claim-rollout.io/revision"].to_string();
            let twice = written.insert((entry.uid.clone(), label), entry);
            ensure!(twice.is_none(), "{twice:?}, and then {entry:?}");
        }
        Ok(())
    }

    /// S10: no object with a deletionTimestamp is written.
    pub(crate) fn terminating_objects_are_not_written(&self) -> anyhow::Result<()> {
        // A deletion answers with the object that is being deleted.
        let writes = self.by_us().filter(|entry| entry.succeeded() && entry.verb != "delete");
        for entry in writes {
            let metadata = &entry.response.value()["metadata"];
            ensure!(metadata["deletionTimestamp"].is_null(), "{entry:?}");
        }
        Ok(())
    }

    /// S12: every write changes the resourceVersion of its object.
    pub(crate) fn every_write_changes_something(&self, but: Exceptions) -> anyhow::Result<()> {
        let mut stored = BTreeMap::new();
        for entry in self.all.iter().filter(|entry| entry.succeeded() && entry.version > 0) {
            let before = stored.insert((&entry.uid, entry.version), entry);
            let report = but.reported_twice && entry.resource == "claimrollouts";
            let undone = but.undone && entry.resource == "statefulsets"
                || but.changed && entry.resource == "persistentvolumeclaims";
            ensure!(
                before.is_none() || entry.user != USER || report || undone,
                "{entry:?} stored nothing after {before:?}"
            );
        }
        Ok(())
    }

    /// The requests of our controllers. An API server that has just started forbids for a moment what its rules allow.
    fn by_us(&self) -> impl Iterator<Item = &Entry> {
        self.all.iter().filter(|entry| entry.user == USER && !entry.forbidden)
    }

    /// Our successful applies of PVCs, each with the PVC as it was stored before.
    fn with_previous(&self) -> impl Iterator<Item = (&Entry, Value)> {
        let ours = self.by_us().filter(|entry| is_claim(entry) && entry.succeeded());
        ours.filter_map(|entry| {
            let previous = self
                .all
                .iter()
                .filter(|other| other.uid == entry.uid && other.succeeded() && other.version < entry.version);
            let before = previous.max_by_key(|other| other.version)?;
            Some((entry, before.response.value()))
        })
    }
}

fn is_claim(entry: &Entry) -> bool {
    entry.resource == "persistentvolumeclaims"
}

fn bytes(sizes: &Value) -> anyhow::Result<claim_rollout::templates::Quantity> {
    let size = sizes["storage"]
        .as_str()
        .with_context(|| format!("a size in {sizes}"))?;
    Ok(size.parse()?)
}

/// The paths of all values that are no objects.
fn leaves(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                leaves(value, &below, paths);
            }
        }
        _ => paths.push(path.to_owned()),
    }
}
