//! AdmissionReviews with sentences as names, and the objects of their clusters, in `reviews/<family>.yaml`.
//!
//! An entry is a difference (RFC 6902) from another entry, or it is whole in `reviews/<sentence>.json`. A body that no
//! JSON value has is a change of the text of one.
#![allow(dead_code, reason = "the tests, the playground and the fuzzer use some of it each")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_saphyr::{FlowMap, FlowSeq};

/// The folder of the reviews, from every package of the repository.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2e-tests/reviews");

/// The family of the entries that are objects of a cluster, and no reviews.
pub(crate) const OBJECTS: &str = "objects";

/// The most differences between an entry and a whole file.
const DEEPEST: usize = 6;

/// A review with its expected answer, or an object.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Entry {
    /// The entry that this one differs from. Without it, a change begins with `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The operations of RFC 6902. Without them and without `from`, the entry is a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) change: Vec<FlowMap<Value>>,
    /// Texts in the body, and what they are replaced by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    text: Vec<FlowSeq<[String; 2]>>,
    /// The length of a body that ends too early.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// The settings of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<FlowMap<Value>>,
    /// The names of the objects in the cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) claims: Vec<String>,
    /// The answer to a review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<Response>,
}

/// An answer as a reader wants it: the patch decoded, the status flat, without the uid. Or the error.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(crate) struct Response {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_annotations: Option<FlowMap<Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    patch: Vec<FlowMap<Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// All entries by name, each with the name of its family.
pub(crate) struct Stored {
    pub(crate) entries: BTreeMap<String, (String, Entry)>,
}

impl Stored {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut entries = BTreeMap::new();
        for file in fs::read_dir(FOLDER)? {
            let path = file?.path();
            let Some(family) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".yaml")) else {
                continue;
            };
            let text = fs::read_to_string(&path)?;
            let of_family: BTreeMap<String, Entry> =
                serde_saphyr::from_str(&text).with_context(|| family.to_owned())?;
            for (name, entry) in of_family {
                ensure!(
                    !entries.contains_key(&name),
                    "{family}.yaml: {name:?} is in another file too"
                );
                entries.insert(name, (family.to_owned(), entry));
            }
        }
        Ok(Self { entries })
    }

    /// The reviews, without the objects.
    pub(crate) fn reviews(&self) -> impl Iterator<Item = (&String, &Entry)> {
        let reviews = self.entries.iter().filter(|(_, (family, _))| family != OBJECTS);
        reviews.map(|(sentence, (_, entry))| (sentence, entry))
    }

    /// The entry, then what it differs from, and so on.
    pub(crate) fn lineage(&self, name: &str) -> anyhow::Result<Vec<(&str, &Entry)>> {
        let mut lineage: Vec<(&str, &Entry)> = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next {
            let found = self.entries.get_key_value(name);
            let (name, (_, entry)) = found.with_context(|| format!("no entry {name:?}"))?;
            ensure!(lineage.len() <= DEEPEST, "{name:?}: more than {DEEPEST} differences");
            next = entry.from.as_deref();
            lineage.push((name, entry));
        }
        Ok(lineage)
    }

    /// The JSON value of an entry.
    pub(crate) fn value(&self, name: &str) -> anyhow::Result<Value> {
        let mut value = Value::Null;
        for (name, entry) in self.lineage(name)?.into_iter().rev() {
            if entry.is_whole() {
                value = serde_json::from_slice(&bytes(name)?).with_context(|| name.to_owned())?;
            }
            let patch = entry
                .change
                .iter()
                .map(|FlowMap(operation)| operation.clone())
                .collect();
            let patch: json_patch::Patch = serde_json::from_value(patch).with_context(|| name.to_owned())?;
            json_patch::patch(&mut value, &patch).with_context(|| name.to_owned())?;
        }
        Ok(value)
    }

    /// The bytes of a review, as they are judged.
    pub(crate) fn body(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        let (_, entry) = self.entries.get(name).with_context(|| format!("no entry {name:?}"))?;
        if entry.is_whole() {
            return bytes(name);
        }
        let mut text = pretty(&self.value(name)?)?;
        for FlowSeq([found, written]) in &entry.text {
            let count = text.matches(found).count();
            ensure!(
                count == 1,
                "{name:?}: expected {found:?} once, but found it {count} times"
            );
            text = text.replace(found, written);
        }
        let mut bytes = text.into_bytes();
        bytes.truncate(entry.bytes.unwrap_or(usize::MAX));
        Ok(bytes)
    }
}

impl Entry {
    fn is_whole(&self) -> bool {
        self.from.is_none() && self.change.is_empty()
    }

    /// The settings of the policy.
    pub(crate) fn settings(&self) -> Value {
        let settings = self.settings.as_ref();
        settings.map_or_else(|| json!({}), |FlowMap(settings)| settings.clone())
    }
}

/// The path of a file in the folder of the reviews.
pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(name)
}

/// The file of an entry that is whole.
pub(crate) fn whole(name: &str) -> PathBuf {
    file(&format!("{}.json", name.replace(' ', "-")))
}

fn bytes(name: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(whole(name)).with_context(|| name.to_owned())
}

/// The text of a JSON value in a file.
pub(crate) fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
