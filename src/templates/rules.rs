//! Which changes of a template are allowed (KEP-4650, "Kubernetes API Changes").
//!
//! The policy checks each request with these rules. The controller checks the staged change again, because somebody may
//! have written one while the policy was not running.

use std::borrow::Cow;
use std::fmt;

use super::diff::{Change, Diff, FrozenChange, find};
use super::keys;
use super::quantity::{NotBytes, Quantity};
use super::show::{path, path_of, shown};
use super::template::ClaimTemplate;
use super::words::words;

/// The settings of the rules. The default is the strictest one that needs no configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules<'a> {
    /// Domains of label and annotation keys that must not change, each with its slash.
    pub reserved_key_prefixes: &'a [Cow<'static, str>],
    /// The largest size by storage class; `*` is for all other classes. Without an entry there is no limit.
    pub max_storage: &'a [(String, Quantity)],
    /// The allowed VolumeAttributesClasses; all, if there is no list.
    pub attributes_classes: Option<&'a [String]>,
    /// Changes of labels and annotations.
    pub metadata: Metadata,
    /// Changes of the fields that no PVC can follow in place, and smaller sizes.
    pub frozen: Frozen,
    /// Added, removed and renamed templates.
    pub names: TemplateNames,
}

/// Whether labels and annotations may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// The change is allowed.
    #[default]
    MayChange,
    /// The change is denied.
    Fixed,
}

words! {
    /// What happens to a size that is smaller than the one that was desired before. A size from the live one on is always
    /// allowed: no PVC shrinks, and new PVCs get it.
    pub enum Shrink = Deny {
        /// A size below the live one is denied.
        Deny,
        /// The same. A smaller size also cancels an expansion that did not complete (KEP-1790).
        Recover,
        /// The smaller size is ignored, so that the rest of the request passes.
        Keep,
    }
}

words! {
    /// Whether fields may change that no PVC can follow in place.
    pub enum Frozen = Deny {
        /// The change is denied.
        Deny,
        /// The change is allowed for new PVCs. Existing ones keep what they have.
        ForNewClaims = "NewPVCs",
    }
}

/// The fields that may change for new PVCs. A volume that exists cannot be given to a new PVC, and all other fields have
/// no effect on a new PVC.
pub const FOR_NEW_CLAIMS: [&str; 6] = [
    "accessModes",
    "dataSource",
    "dataSourceRef",
    "selector",
    "storageClassName",
    "volumeMode",
];

impl Frozen {
    /// True iff the field may change. `field` is a path below the template, such as `spec.selector.matchLabels.disk`.
    fn allows(self, field: &str) -> bool {
        let name = field.strip_prefix("spec.").unwrap_or_default();
        let name = name.split(['.', '[']).next().unwrap_or_default();
        self == Self::ForNewClaims && FOR_NEW_CLAIMS.contains(&name)
    }
}

/// Whether templates may be added, removed and renamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateNames {
    /// They may not: nothing would replace the StatefulSet, whatever the settings are.
    #[default]
    Fixed,
    /// They may not, by the settings.
    Deny,
    /// They may not, because the StatefulSet is not replaced.
    NotReplaced,
    /// They may, but for the first template: no Pod has a PVC yet, so none waits at the gate.
    MayChange,
}

impl TemplateNames {
    /// What is missing, for messages.
    const fn without(self) -> &'static str {
        match self {
            Self::Fixed | Self::MayChange => "",
            Self::Deny => " without the setting templateChanges: Allow",
            Self::NotReplaced => " without the annotation claim-rollout.io/replace-set: WhenComplete",
        }
    }
}

/// One reason why a change is denied.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleFault {
    /// The name of the template.
    pub template: String,
    /// The fault.
    pub kind: FaultKind,
}

/// What is wrong with a change.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// The template is new.
    Added(TemplateNames),
    /// The template is missing, or has another name.
    Removed(TemplateNames),
    /// A field changes that must not change.
    Frozen(FrozenChange),
    /// The size is missing.
    NoSize,
    /// A volume cannot have this size.
    NotASize(Quantity, NotBytes),
    /// The size is smaller.
    Shrinks {
        /// The smallest allowed size.
        least: Quantity,
        /// The size in the request.
        found: Quantity,
    },
    /// The size exceeds the limit of an administrator.
    TooLarge {
        /// The largest allowed size.
        most: Quantity,
        /// The size in the request.
        found: Quantity,
    },
    /// The administrator does not allow this VolumeAttributesClass.
    AttributesClass {
        /// The class in the request.
        found: String,
        /// The allowed classes.
        allowed: Vec<String>,
    },
    /// A key that other controllers act on. The value is the field.
    Reserved(String),
    /// Labels and annotations must not change. The value is the field.
    Metadata(String),
}

impl Default for Rules<'_> {
    fn default() -> Self {
        Self {
            reserved_key_prefixes: &keys::RESERVED_KEY_PREFIXES,
            max_storage: &[],
            attributes_classes: None,
            metadata: Metadata::default(),
            frozen: Frozen::default(),
            names: TemplateNames::default(),
        }
    }
}

impl Rules<'_> {
    /// Every fault of a change to `wanted`; empty iff it is allowed. `live` are the live templates.
    #[must_use]
    pub fn faults(&self, diff: &Diff, wanted: &[ClaimTemplate], live: &[ClaimTemplate]) -> Vec<RuleFault> {
        let mut faults = Vec::new();
        let mut push = |template: &str, kind| {
            faults.push(RuleFault {
                template: template.to_owned(),
                kind,
            });
        };
        for (at, template) in wanted.iter().enumerate() {
            if find(live, at, &template.name).is_none() {
                let fault = self.added(template, live.is_empty());
                fault.into_iter().for_each(|kind| push(&template.name, kind));
            }
        }
        for (at, template) in live.iter().enumerate() {
            if self.names != TemplateNames::MayChange && find(wanted, at, &template.name).is_none() {
                push(&template.name, FaultKind::Removed(self.names));
            }
        }
        for change in &diff.changed {
            let name = &change.template;
            for frozen in change.frozen.iter().filter(|frozen| !self.frozen.allows(&frozen.field)) {
                push(name, FaultKind::Frozen(frozen.clone()));
            }
            let of_name = |list: &'_ [ClaimTemplate]| list.iter().position(|template| template.name == *name);
            for one in &change.changes {
                let kind = match one {
                    Change::Storage { to, .. } => {
                        let class = of_name(wanted).and_then(|at| wanted[at].storage_class_name());
                        let least = of_name(live).and_then(|at| live[at].storage);
                        self.storage(*to, class, least)
                    }
                    Change::VolumeAttributesClass { to, .. } => self.attributes_class(to.as_deref()),
                    Change::Label(change) | Change::Annotation(change) => self.key(&change.key, one),
                };
                if let Some(kind) = kind {
                    push(name, kind);
                }
            }
            // Another storage class may have a smaller limit.
            if change.has_new_class()
                && !change.has_new_size()
                && let Some(template) = of_name(wanted).map(|at| &wanted[at])
                && let Some(kind) = template
                    .storage
                    .and_then(|found| self.too_large(template.storage_class_name(), found))
            {
                push(name, kind);
            }
        }
        faults
    }

    /// A new template is allowed if a volume can have its size and its class.
    fn added(&self, template: &ClaimTemplate, is_first: bool) -> Option<FaultKind> {
        if is_first || self.names != TemplateNames::MayChange {
            return Some(FaultKind::Added(self.names));
        }
        let class = self.attributes_class(template.volume_attributes_class_name.as_deref());
        let size = self.storage(template.storage, template.storage_class_name(), None);
        size.or(class)
    }

    /// A size from the live one on is allowed if a volume can have it.
    fn storage(&self, to: Option<Quantity>, class: Option<&str>, live: Option<Quantity>) -> Option<FaultKind> {
        let Some(found) = to else {
            return Some(FaultKind::NoSize);
        };
        if let Err(error) = found.bytes() {
            return Some(FaultKind::NotASize(found, error));
        }
        let shrinks = |live: &Quantity| found < *live && self.frozen == Frozen::Deny;
        match live.filter(shrinks) {
            Some(least) => Some(FaultKind::Shrinks { least, found }),
            None => self.too_large(class, found),
        }
    }

    fn too_large(&self, class: Option<&str>, found: Quantity) -> Option<FaultKind> {
        let most = self.max_of(class)?;
        (found > most).then_some(FaultKind::TooLarge { most, found })
    }

    /// The largest size of a storage class. A template without a class has the limit of `*`.
    fn max_of(&self, class: Option<&str>) -> Option<Quantity> {
        let entry = |name: &str| {
            let found = self.max_storage.iter().find(|(class, _)| class == name);
            found.map(|(_, most)| *most)
        };
        class
            .filter(|class| !class.is_empty())
            .and_then(entry)
            .or_else(|| entry("*"))
    }

    fn attributes_class(&self, to: Option<&str>) -> Option<FaultKind> {
        let (allowed, to) = (self.attributes_classes?, to?);
        (!allowed.iter().any(|class| class == to)).then(|| FaultKind::AttributesClass {
            found: to.to_owned(),
            allowed: allowed.to_vec(),
        })
    }

    fn key(&self, key: &str, change: &Change) -> Option<FaultKind> {
        if self.is_reserved(key) {
            return Some(FaultKind::Reserved(change.field()));
        }
        (self.metadata == Metadata::Fixed).then(|| FaultKind::Metadata(change.field()))
    }

    /// True iff a template must not change this label or annotation. A prefix matches its domain and all subdomains.
    #[must_use]
    pub fn is_reserved(&self, key: &str) -> bool {
        let Some((domain, _)) = key.split_once('/') else {
            return false;
        };
        let is_at = |prefix: &str| {
            let rest = prefix.strip_suffix('/').and_then(|above| domain.strip_suffix(above));
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let named = |prefix: &str| !key.starts_with(keys::OF_CHARTS) || prefix == keys::OF_CHARTS;
        let mut prefixes = self.reserved_key_prefixes.iter();
        is_at(keys::PREFIX) || prefixes.any(|prefix| is_at(prefix) && named(prefix))
    }
}

impl RuleFault {
    /// True iff the change is allowed with [`Frozen::ForNewClaims`].
    #[must_use]
    pub fn is_for_new_claims(&self) -> bool {
        match &self.kind {
            FaultKind::Frozen(change) => Frozen::ForNewClaims.allows(&change.field),
            FaultKind::Shrinks { .. } => true,
            _ => false,
        }
    }
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let storage = || path(&self.template, "spec.resources.requests.storage");
        match &self.kind {
            FaultKind::Added(TemplateNames::MayChange) => {
                write!(f, "{}: the first template cannot be added", path_of(&self.template))
            }
            FaultKind::Added(names) => {
                let without = names.without();
                write!(f, "{}: a template cannot be added{without}", path_of(&self.template))
            }
            FaultKind::Removed(names) => {
                let (path, without) = (path_of(&self.template), names.without());
                write!(f, "{path}: a template cannot be removed or renamed{without}")
            }
            FaultKind::Frozen(change) => {
                let [from, to] = change.values();
                let path = path(&self.template, &change.field);
                write!(f, "{path}: cannot change, expected {from}, but found {to}")?;
                if change.field.starts_with("spec.resources.limits") {
                    f.write_str(" (a request may exceed it)")?;
                }
                Ok(())
            }
            FaultKind::NoSize => write!(f, "{}: cannot be removed", storage()),
            FaultKind::NotASize(found, error) => write!(f, "{}: {error}, but found {found}", storage()),
            FaultKind::Shrinks { least, found } => {
                write!(
                    f,
                    "{}: cannot shrink, expected at least {least}, but found {found}",
                    storage()
                )
            }
            FaultKind::TooLarge { most, found } => {
                write!(
                    f,
                    "{}: is limited, expected at most {most}, but found {found}",
                    storage()
                )
            }
            FaultKind::AttributesClass { found, allowed } => write!(
                f,
                "{}: expected one of {}, but found {}",
                path(&self.template, "spec.volumeAttributesClassName"),
                allowed.join(", "),
                shown(found)
            ),
            FaultKind::Reserved(field) => {
                write!(f, "{}: is reserved, expected no change", path(&self.template, field))
            }
            FaultKind::Metadata(field) => write!(
                f,
                "{}: cannot change while the policy's setting metadataOnlyChanges is not Rollout",
                path(&self.template, field)
            ),
        }
    }
}
