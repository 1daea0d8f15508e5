//! A StatefulSet that gets the same request again.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::fields::text;

/// The state of a StatefulSet that repeated requests do not change, except that the API server may reorder the managers
/// once. It sorts them by the second in which they wrote, so that happens with the first request in a later second than
/// another write.
pub(crate) struct Unmoved {
    set: Value,
    managers: BTreeMap<String, Value>,
    versions: Vec<String>,
}

impl Unmoved {
    pub(crate) fn from(mut set: Value) -> anyhow::Result<Self> {
        let (version, managers) = taken(&mut set)?;
        let versions = vec![version];
        Ok(Self {
            set,
            managers,
            versions,
        })
    }

    /// Checks the StatefulSet after one more request.
    pub(crate) fn still(&mut self, mut set: Value) -> anyhow::Result<()> {
        let (version, managers) = taken(&mut set)?;
        ensure!(set == self.set, "expected {:#}, but found {set:#}", self.set);
        ensure!(
            managers == self.managers,
            "expected {:#?}, but found {managers:#?}",
            self.managers
        );
        if self.versions.last() != Some(&version) {
            self.versions.push(version);
        }
        ensure!(
            self.versions.len() <= 2,
            "it is written again and again: {:?}",
            self.versions
        );
        Ok(())
    }
}

/// Removes what a write without changes moves: the version, and the order and the times of the managers. Returns the
/// version and the owned fields.
fn taken(set: &mut Value) -> anyhow::Result<(String, BTreeMap<String, Value>)> {
    let metadata = set["metadata"].as_object_mut().context("metadata")?;
    let version = metadata.remove("resourceVersion").context("a version")?;
    let entries = metadata.remove("managedFields").context("managers")?;
    let managers = entries.as_array().into_iter().flatten().map(|entry| {
        let names = ["manager", "operation", "subresource"].map(|key| text(&entry[key]));
        (names.join(" "), entry["fieldsV1"].clone())
    });
    Ok((text(&version), managers.collect()))
}

#[test]
fn set_unmoved_if_managers_are_reordered_once() -> anyhow::Result<()> {
    let set = |version: u32, managers: [&str; 2], owned: &str, replicas: u32| {
        let entry = |name| json!({"manager": name, "operation": "Update", "time": version, "fieldsV1": {owned: {}}});
        let metadata = json!({"resourceVersion": version.to_string(), "managedFields": managers.map(entry)});
        json!({"metadata": metadata, "spec": {"replicas": replicas}})
    };
    let (there, back) = (["argo", "kubectl"], ["kubectl", "argo"]);
    let first = set(1, there, "f:spec", 2);
    type Case = (&'static str, [Value; 2], bool);
    let cases: [Case; 5] = [
        ("nothing", [first.clone(), first.clone()], true),
        ("places, once", [first.clone(), set(2, back, "f:spec", 2)], true),
        (
            "places, twice",
            [set(2, back, "f:spec", 2), set(3, there, "f:spec", 2)],
            false,
        ),
        ("who owns what", [first.clone(), set(2, there, "f:status", 2)], false),
        ("the spec", [first.clone(), set(2, there, "f:spec", 3)], false),
    ];
    for (what, seen, expected) in cases {
        let mut unmoved = Unmoved::from(first.clone())?;
        let found = seen.into_iter().try_for_each(|set| unmoved.still(set));
        assert_eq!(found.is_ok(), expected, "{what}: {found:?}");
    }
    Ok(())
}
