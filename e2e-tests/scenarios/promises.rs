//! What the controller never does, whatever happens (S1 to S12): each promise is a function of what was written.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::written::Written;
use crate::cluster::Entry;
use crate::installation::USER;

/// What the controller may do at all, besides reading.
const ALLOWED: [(&str, &str, &str); 12] = [
    ("persistentvolumeclaims", "", "patch"),
    ("statefulsets", "", "patch"),
    ("claimrollouts", "", "patch"),
    ("claimrollouts", "status", "patch"),
    ("controllerrevisions", "", "create"),
    // A wish that comes again is the newest once more.
    ("controllerrevisions", "", "patch"),
    ("controllerrevisions", "", "delete"),
    // Where the annotation `restart` asks for it.
    ("pods", "eviction", "create"),
    ("events", "", "create"),
    ("leases", "", "create"),
    ("leases", "", "update"),
    ("leases", "", "patch"),
];

/// What an apply on a claim may say.
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

/// What a patch of a set may say.
const OF_SETS: [&str; 5] = [
    "metadata.uid",
    "metadata.resourceVersion",
    "metadata.annotations.claim-rollout.io/staged",
    "metadata.annotations.claim-rollout.io/phase",
    "metadata.annotations.claim-rollout.io/ready",
];

/// What some scenarios ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exceptions {
    /// `shrink: Recover`: a growth that was not reached may be taken back.
    pub(crate) recovers: bool,
    /// Two controllers are active: what one has reported, the other may report as well.
    pub(crate) reported_twice: bool,
    /// The policy puts back what is written to the StatefulSet.
    pub(crate) undone: bool,
    /// A webhook changes what is written to claims.
    pub(crate) changed: bool,
}

impl Written {
    /// All of them, for everything that was ever written in the namespace.
    pub(crate) fn keeps_every_promise(&self, but: Exceptions) -> anyhow::Result<()> {
        self.nothing_gets_smaller(but.recovers).context("S1")?;
        self.few_fields_are_written().context("S2")?;
        self.nothing_is_born_or_dies_by_us().context("S3, S4")?;
        if !but.changed {
            self.no_claim_is_written_twice_for_one_wish().context("S8")?;
        }
        self.the_dying_are_left_alone().context("S10")?;
        self.every_write_changes_something(but).context("S12")
    }

    /// S1: no claim asks for less than before; where growth may be taken back, for no less than it has.
    pub(crate) fn nothing_gets_smaller(&self, recovers: bool) -> anyhow::Result<()> {
        for (entry, before) in self.with_what_was_before() {
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

    /// S2: claims get size, class, labels and annotations, sets annotations of ours.
    pub(crate) fn few_fields_are_written(&self) -> anyhow::Result<()> {
        for entry in self.by_us() {
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
            ensure!(other.is_none(), "{entry:?} says {other:?}");
        }
        Ok(())
    }

    /// S3 and S4: no verb but those that are allowed, and every write of a claim or a set names what it was decided for.
    pub(crate) fn nothing_is_born_or_dies_by_us(&self) -> anyhow::Result<()> {
        for entry in self.by_us() {
            let done = (entry.resource.as_str(), entry.subresource.as_str(), entry.verb.as_str());
            ensure!(ALLOWED.contains(&done), "{entry:?}");
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

    /// S8: for one revision a claim is written once.
    pub(crate) fn no_claim_is_written_twice_for_one_wish(&self) -> anyhow::Result<()> {
        let mut written = BTreeMap::new();
        for entry in self.by_us().filter(|entry| is_claim(entry) && entry.succeeded()) {
            let revision = entry.request.value()["metadata"]["labels"]["claim-rollout.io/revision"].to_string();
            let twice = written.insert((entry.uid.clone(), revision), entry);
            ensure!(twice.is_none(), "{twice:?}, and then {entry:?}");
        }
        Ok(())
    }

    /// S10: nothing that is being deleted is written.
    pub(crate) fn the_dying_are_left_alone(&self) -> anyhow::Result<()> {
        for entry in self.by_us().filter(|entry| entry.succeeded()) {
            let metadata = &entry.response.value()["metadata"];
            ensure!(metadata["deletionTimestamp"].is_null(), "{entry:?}");
        }
        Ok(())
    }

    /// S12: no write whose answer has the resourceVersion that the object had already.
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

    /// What we asked for. An API server that has just begun forbids for a moment what it allows, and reads nothing of it.
    fn by_us(&self) -> impl Iterator<Item = &Entry> {
        self.all.iter().filter(|entry| entry.user == USER && !entry.forbidden)
    }

    /// Our applies of claims that succeeded, each with the claim as it was stored before.
    fn with_what_was_before(&self) -> impl Iterator<Item = (&Entry, Value)> {
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

/// The paths of everything that is no object.
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
