//! What changed between two lists of templates, and which of it KEP-4650 allows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json;
use super::quantity::Quantity;
use super::template::ClaimTemplate;

/// Everything that differs between two lists of templates, matched by name.
///
/// Order is no difference. A renamed template is one that was removed and one that was added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Templates of the new list that the old one does not have.
    pub added: Vec<String>,
    /// Templates of the old list that the new one does not have.
    pub removed: Vec<String>,
    /// Templates of both lists that differ, in the order of the new list.
    pub changed: Vec<TemplateChange>,
}

/// What changed in one template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateChange {
    /// The template's name.
    pub template: String,
    /// Differences in the four fields that KEP-4650 lets change.
    pub changes: Vec<Change>,
    /// Differences anywhere else.
    pub frozen: Vec<FrozenChange>,
}

/// A difference in one of the four fields that KEP-4650 lets change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `spec.resources.requests.storage`
    Storage {
        /// In the old list.
        from: Option<Quantity>,
        /// In the new list.
        to: Option<Quantity>,
    },
    /// `spec.volumeAttributesClassName`
    VolumeAttributesClass {
        /// In the old list.
        from: Option<String>,
        /// In the new list.
        to: Option<String>,
    },
    /// One key of `metadata.labels`
    Label(KeyChange),
    /// One key of `metadata.annotations`
    Annotation(KeyChange),
}

/// A difference in one key of a map of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: String,
    /// In the old list.
    pub from: Option<String>,
    /// In the new list.
    pub to: Option<String>,
}

/// A difference in a field that may not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenChange {
    /// The field below the template, such as `spec.accessModes`.
    pub field: String,
    /// Canonical JSON of the old value.
    pub from: Option<String>,
    /// Canonical JSON of the new value.
    pub to: Option<String>,
}

/// The path of a template, as messages name it.
#[must_use]
pub fn path_of(template: &str) -> String {
    format!("spec.volumeClaimTemplates[{template}]")
}

impl Diff {
    /// What changes from `old` to `new`.
    #[must_use]
    pub fn between(old: &[ClaimTemplate], new: &[ClaimTemplate]) -> Self {
        let by_name: BTreeMap<&str, &ClaimTemplate> = old.iter().map(|template| (template.name.as_str(), template)).collect();
        let mut diff = Self::default();
        let mut kept = std::collections::BTreeSet::new();
        for template in new {
            let Some(before) = by_name.get(template.name.as_str()) else {
                diff.added.push(template.name.clone());
                continue;
            };
            kept.insert(template.name.as_str());
            let change = TemplateChange::between(before, template);
            if !change.changes.is_empty() || !change.frozen.is_empty() {
                diff.changed.push(change);
            }
        }
        diff.removed =
            old.iter().filter(|template| !kept.contains(template.name.as_str())).map(|template| template.name.clone()).collect();
        diff
    }

    /// True iff the lists mean the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl TemplateChange {
    fn between(old: &ClaimTemplate, new: &ClaimTemplate) -> Self {
        let mut changes = Vec::new();
        if old.storage != new.storage {
            changes.push(Change::Storage { from: old.storage, to: new.storage });
        }
        if old.volume_attributes_class_name != new.volume_attributes_class_name {
            changes.push(Change::VolumeAttributesClass {
                from: old.volume_attributes_class_name.clone(),
                to: new.volume_attributes_class_name.clone(),
            });
        }
        changes.extend(key_changes(&old.labels, &new.labels).map(Change::Label));
        changes.extend(key_changes(&old.annotations, &new.annotations).map(Change::Annotation));

        let mut frozen = Vec::new();
        compare_maps("metadata", &old.metadata, &new.metadata, &mut frozen);
        compare_quantities("spec.resources.requests", &old.other_requests, &new.other_requests, &mut frozen);
        compare_quantities("spec.resources.limits", &old.limits, &new.limits, &mut frozen);
        compare_maps("spec", &old.spec, &new.spec, &mut frozen);
        Self { template: new.name.clone(), changes, frozen }
    }
}

impl Change {
    /// The field below the template, as messages name it.
    #[must_use]
    pub fn field(&self) -> String {
        match self {
            Self::Storage { .. } => "spec.resources.requests.storage".to_owned(),
            Self::VolumeAttributesClass { .. } => "spec.volumeAttributesClassName".to_owned(),
            Self::Label(change) => format!("metadata.labels[{}]", change.key),
            Self::Annotation(change) => format!("metadata.annotations[{}]", change.key),
        }
    }
}

/// Keys of either map whose values differ, sorted.
fn key_changes<'a>(
    old: &'a BTreeMap<String, String>,
    new: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = KeyChange> + 'a {
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).map(|key| KeyChange {
        key: key.clone(),
        from: old.get(key).cloned(),
        to: new.get(key).cloned(),
    })
}

fn compare_quantities(
    field: &str,
    old: &BTreeMap<String, Quantity>,
    new: &BTreeMap<String, Quantity>,
    frozen: &mut Vec<FrozenChange>,
) {
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        if old.get(key) != new.get(key) {
            frozen.push(FrozenChange {
                field: format!("{field}.{key}"),
                from: old.get(key).map(Quantity::to_string),
                to: new.get(key).map(Quantity::to_string),
            });
        }
    }
}

/// Compares two objects key by key, down to the first value that is not an object on both sides.
fn compare_maps(field: &str, old: &Map<String, Value>, new: &Map<String, Value>, frozen: &mut Vec<FrozenChange>) {
    let keys: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let field = format!("{field}.{key}");
        match (old.get(key), new.get(key)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare_maps(&field, old, new, frozen),
            (from, to) if from != to => {
                frozen.push(FrozenChange { field, from: from.map(json::canonical), to: to.map(json::canonical) });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
