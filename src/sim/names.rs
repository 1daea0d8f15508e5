//! The numbers of the model as the texts that the decisions read, and back.

use rustc_hash::FxHashMap;

use super::objects::{ModelTarget, Want, place};
use crate::templates::{ClaimTemplate, Quantity, Revision, RevisionLabel, Staging};

/// The name of the set.
pub(crate) const SET: &str = "web";
/// The names of its templates. The claims of a set `a-web` with a template `data` have the same names as those of the
/// second.
pub(crate) const TEMPLATE: [&str; 2] = ["data", "data-a"];
/// The names of StorageClasses, before the number.
pub(crate) const STORAGE_CLASS: &str = "storage-";
/// The label of a template.
pub(crate) const TIER: &str = "tier";

/// The texts of targets, cached.
#[derive(Debug, Default)]
pub(crate) struct Names {
    targets: FxHashMap<ModelTarget, (Vec<ClaimTemplate>, RevisionLabel)>,
    revisions: FxHashMap<String, ModelTarget>,
    labels: FxHashMap<String, ModelTarget>,
}

impl Names {
    fn of(&mut self, target: &ModelTarget) -> &(Vec<ClaimTemplate>, RevisionLabel) {
        let (revisions, labels) = (&mut self.revisions, &mut self.labels);
        self.targets.entry(*target).or_insert_with(|| {
            let templates = ClaimTemplate::read_list(&text(target)).unwrap_or_default();
            let revision = Revision::of(&templates);
            revisions.insert(revision.to_string(), target.unstaged());
            let staging = Staging::of(SET, &target.staging.to_string(), &revision);
            let label = RevisionLabel { revision, staging };
            labels.insert(label.to_string(), *target);
            (templates, label)
        })
    }

    /// The templates of a target.
    pub(crate) fn templates(&mut self, target: &ModelTarget) -> Vec<ClaimTemplate> {
        self.of(target).0.clone()
    }

    /// The revision of a target.
    pub(crate) fn revision(&mut self, target: &ModelTarget) -> Revision {
        self.of(target).1.revision.clone()
    }

    /// The label of the claims of a target.
    pub(crate) fn label(&mut self, target: &ModelTarget) -> RevisionLabel {
        self.of(target).1.clone()
    }

    /// The target of a label, if it was requested before.
    pub(crate) fn at(&self, label: &RevisionLabel) -> Option<ModelTarget> {
        self.labels.get(&label.to_string()).copied()
    }

    /// The templates of a revision, if they were requested before.
    pub(crate) fn target(&self, revision: &str) -> Option<ModelTarget> {
        self.revisions.get(revision).copied()
    }
}

/// `spec.volumeClaimTemplates`
pub(crate) fn text(target: &ModelTarget) -> String {
    let items = target.wants().iter().zip(TEMPLATE).map(|(want, name)| {
        let labels = match want.tier {
            0 => String::new(),
            tier => format!(r#","labels":{{"{TIER}":"t{tier}"}}"#),
        };
        let storage_class = storage_class(want.storage_class).map_or_else(String::new, |class| {
            format!(r#","storageClassName":"{class}""#)
        });
        let class = match want.class {
            0 => String::new(),
            class => format!(r#","volumeAttributesClassName":"class-{class}""#),
        };
        format!(
            r#"{{"metadata":{{"name":"{name}"{labels}}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}Gi"}}}}{class}{storage_class}}}}}"#,
            want.size
        )
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The target of a list of templates.
pub(crate) fn target(templates: &[ClaimTemplate]) -> ModelTarget {
    let wants: Vec<Want> = templates.iter().map(want).collect();
    ModelTarget::of(&wants)
}

fn want(template: &ClaimTemplate) -> Want {
    Want {
        size: template.storage.as_ref().map_or(0, whole_gi),
        class: number(template.volume_attributes_class_name.as_deref(), "class-"),
        tier: number(template.labels.get(TIER).map(String::as_str), "t"),
        storage_class: number(template.storage_class_name(), STORAGE_CLASS),
    }
}

/// A size in Gi, rounded up as drivers do.
pub(crate) fn whole_gi(size: &Quantity) -> u8 {
    let gi = size.bytes().map_or(0, |bytes| bytes.div_ceil(1 << 30));
    u8::try_from(gi).unwrap_or(u8::MAX)
}

/// The number in a name such as `class-2`; 0 without one.
pub(crate) fn number(name: Option<&str>, prefix: &str) -> u8 {
    let digits = name.and_then(|name| name.strip_prefix(prefix));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The name of a class; `None` for 0.
pub(crate) fn class(class: u8) -> Option<String> {
    (class != 0).then(|| format!("class-{class}"))
}

/// The name of a StorageClass; `None` for 0.
pub(crate) fn storage_class(class: u8) -> Option<String> {
    (class != 0).then(|| format!("{STORAGE_CLASS}{class}"))
}

/// A quantity in Gi.
pub(crate) fn gi(size: u8) -> Quantity {
    Quantity::from_bytes(u64::from(size) << 30)
}

/// The name of the claim in a slot.
pub(crate) fn claim_name(slot: usize) -> String {
    let (template, ordinal) = place(slot);
    format!("{}-{SET}-{ordinal}", TEMPLATE[template])
}
