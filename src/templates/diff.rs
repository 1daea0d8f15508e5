//! The differences between two lists of templates, and which of them KEP-4650 allows.

use super::quantity::Quantity;
use super::template::{ACCESS_MODES, AMOUNTS, ClaimTemplate, POINTERS};
use crate::json::{self, Map, Value};

/// All differences between two lists of templates, which are matched by name.
///
/// The order does not count. A renamed template is removed under its old name and added under its new one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Templates of the new list that the old one does not have.
    pub added: Vec<String>,
    /// Templates of the old list that the new one does not have.
    pub removed: Vec<String>,
    /// Templates of both lists that differ, in the order of the new list.
    pub changed: Vec<TemplateChange>,
}

/// The differences in one template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateChange {
    /// The name of the template.
    pub template: String,
    /// Differences in the four fields that KEP-4650 allows to change.
    pub changes: Vec<Change>,
    /// Differences in all other fields.
    pub frozen: Vec<FrozenChange>,
}

/// A difference in one of the four fields that KEP-4650 allows to change.
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

/// A difference in a field that must not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenChange {
    /// The field below the template, such as `spec.accessModes`.
    pub field: String,
    /// Canonical JSON of the old value.
    pub from: Option<String>,
    /// Canonical JSON of the new value.
    pub to: Option<String>,
}

impl Diff {
    /// The differences from `old` to `new`.
    #[must_use]
    pub fn between(old: &[ClaimTemplate], new: &[ClaimTemplate]) -> Self {
        let mut diff = Self::default();
        for (index, template) in new.iter().enumerate() {
            let Some(before) = find(old, index, &template.name) else {
                diff.added.push(template.name.clone());
                continue;
            };
            let change = TemplateChange::between(before, template);
            if !change.is_empty() {
                diff.changed.push(change);
            }
        }
        for (index, template) in old.iter().enumerate() {
            if find(new, index, &template.name).is_none() {
                diff.removed.push(template.name.clone());
            }
        }
        diff
    }

    /// Every template as changed, without a change: PVCs may differ from all of them.
    #[must_use]
    pub fn of_all(templates: &[ClaimTemplate]) -> Self {
        let of = |template: &ClaimTemplate| TemplateChange {
            template: template.name.clone(),
            changes: Vec::new(),
            frozen: Vec::new(),
        };
        Self {
            changed: templates.iter().map(of).collect(),
            ..Self::default()
        }
    }

    /// True iff the lists are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// True iff a template is added, removed or renamed.
    #[must_use]
    pub fn renames(&self) -> bool {
        !(self.added.is_empty() && self.removed.is_empty())
    }

    /// A template that is not live has no PVC, so that a change of it is as good as a new one. One that is live has PVCs,
    /// although its removal is staged: it counts as changed if it comes back otherwise. `of_live` are the changes of the
    /// live templates.
    pub fn add_unless_live(&mut self, live: &[ClaimTemplate], of_live: Vec<TemplateChange>) {
        let Self { added, changed, .. } = self;
        changed.retain(|change| {
            let is_live = live.iter().any(|template| template.name == change.template);
            if !is_live {
                added.push(change.template.clone());
            }
            is_live
        });
        for change in of_live {
            if let Some(at) = added.iter().position(|name| *name == change.template) {
                added.remove(at);
                changed.push(change);
            }
        }
    }

    /// True iff a PVC with the old templates could not get all of it in place: another template, a field that must not change,
    /// or a smaller size.
    #[must_use]
    pub fn needs_new_claims(&self) -> bool {
        self.renames() || self.takes_back() || self.changed.iter().any(|change| !change.frozen.is_empty())
    }

    /// True iff PVCs that exist may get something of it: anything but a smaller size, and what must not change.
    #[must_use]
    pub fn reaches_claims(&self) -> bool {
        self.changed
            .iter()
            .flat_map(|change| &change.changes)
            .any(|change| !change.is_smaller())
    }

    /// True iff a size decreases.
    #[must_use]
    pub fn takes_back(&self) -> bool {
        self.changed
            .iter()
            .flat_map(|change| &change.changes)
            .any(Change::is_smaller)
    }
}

/// The template of this name. In most lists it has the same index as in the other list.
pub(super) fn find<'a>(list: &'a [ClaimTemplate], likely: usize, name: &str) -> Option<&'a ClaimTemplate> {
    match list.get(likely) {
        Some(template) if template.name == name => Some(template),
        _ => list.iter().find(|template| template.name == name),
    }
}

impl TemplateChange {
    /// True iff the templates are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.frozen.is_empty()
    }

    /// True iff the storage class differs.
    #[must_use]
    pub fn has_new_class(&self) -> bool {
        self.frozen.iter().any(|change| change.field == "spec.storageClassName")
    }

    /// True iff the size differs.
    #[must_use]
    pub fn has_new_size(&self) -> bool {
        self.changes
            .iter()
            .any(|change| matches!(change, Change::Storage { .. }))
    }

    /// The differences between two templates, except the name.
    #[must_use]
    pub fn between(old: &ClaimTemplate, new: &ClaimTemplate) -> Self {
        let mut changes = Vec::new();
        if old.storage != new.storage {
            changes.push(Change::Storage {
                from: old.storage,
                to: new.storage,
            });
        }
        if old.volume_attributes_class_name != new.volume_attributes_class_name {
            changes.push(Change::VolumeAttributesClass {
                from: old.volume_attributes_class_name.clone(),
                to: new.volume_attributes_class_name.clone(),
            });
        }
        compare_strings(&old.labels, &new.labels, |change| changes.push(Change::Label(change)));
        compare_strings(&old.annotations, &new.annotations, |change| {
            changes.push(Change::Annotation(change));
        });

        let mut frozen = Vec::new();
        compare_maps(&Path::root("metadata"), &old.metadata, &new.metadata, &mut frozen);
        frozen.extend(FrozenChange::in_spec(&old.spec, &new.spec));
        Self {
            template: new.name.clone(),
            changes,
            frozen,
        }
    }
}

impl FrozenChange {
    /// The differences in `spec`, except size and VolumeAttributesClass. The maps are those of [`ClaimTemplate::spec`].
    #[must_use]
    pub fn in_spec(old: &Map<Value>, new: &Map<Value>) -> Vec<Self> {
        let mut frozen = Vec::new();
        compare_maps(&Path::root("spec"), old, new, &mut frozen);
        frozen
    }
}

impl PartialEq for ClaimTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && TemplateChange::between(self, other).is_empty()
    }
}

impl Change {
    /// True iff the size decreases.
    #[must_use]
    pub fn is_smaller(&self) -> bool {
        matches!(self, Self::Storage { from: Some(from), to: Some(to) } if to < from)
    }

    /// The path below the template, for messages.
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

/// Reports each key with different values: the keys of the old map, then those that only the new map has.
fn compare_strings(old: &Map<String>, new: &Map<String>, mut report: impl FnMut(KeyChange)) {
    let only_new = new.keys().filter(|key| !old.contains_key(key));
    for key in old.keys().chain(only_new) {
        let (from, to) = (old.get(key), new.get(key));
        if from != to {
            report(KeyChange {
                key: key.clone(),
                from: from.cloned(),
                to: to.cloned(),
            });
        }
    }
}

/// A path, which becomes text only for a difference.
struct Path<'p> {
    above: Option<&'p Self>,
    key: &'p str,
}

impl<'p> Path<'p> {
    const fn root(key: &'p str) -> Self {
        Self { above: None, key }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        if let Some(above) = self.above {
            above.write(text);
            text.push('.');
        }
        text.push_str(self.key);
    }
}

/// Compares two objects key by key, down to the first value that is not an object on both sides.
fn compare_maps(field: &Path<'_>, old: &Map<Value>, new: &Map<Value>, frozen: &mut Vec<FrozenChange>) {
    let only_new = new.keys().filter(|key| !old.contains_key(key));
    for key in old.keys().chain(only_new) {
        let inner = Path {
            above: Some(field),
            key,
        };
        match (old.get(key), new.get(key)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare_maps(&inner, old, new, frozen),
            // Absent equals empty, so descend to the innermost field; but for pointers, absent is a value.
            (Some(Value::Object(old)), None) if !is_pointer(key) => compare_maps(&inner, old, &Map::new(), frozen),
            (None, Some(Value::Object(new))) if !is_pointer(key) => compare_maps(&inner, &Map::new(), new, frozen),
            (from, to) if from == to || is_same_amount(field, from, to) || is_same_set(key, from, to) => {}
            (from, to) => {
                frozen.push(FrozenChange {
                    field: inner.text(),
                    from: from.map(json::canonical),
                    to: to.map(json::canonical),
                });
            }
        }
    }
}

fn is_pointer(key: &str) -> bool {
    POINTERS.contains(&key)
}

/// True iff both values are quantities of the same amount, in a map of quantities.
fn is_same_amount(field: &Path<'_>, from: Option<&Value>, to: Option<&Value>) -> bool {
    let amount = |value: Option<&Value>| value?.as_str()?.parse::<Quantity>().ok();
    let field = field.text();
    AMOUNTS.iter().any(|(_, path)| *path == field) && amount(from).is_some_and(|from| Some(from) == amount(to))
}

/// True iff both values are lists of access modes in any order: Kubernetes compares them as sets.
fn is_same_set(key: &str, from: Option<&Value>, to: Option<&Value>) -> bool {
    let (Some(Value::Array(from)), Some(Value::Array(to))) = (from, to) else {
        return false;
    };
    let all = |these: &[Value], those: &[Value]| these.iter().all(|one| those.contains(one));
    key == ACCESS_MODES && all(from, to) && all(to, from)
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
