//! The model's numbers as the texts that the decisions read, and back.

use rustc_hash::FxHashMap;

use super::objects::{Target, Want};
use crate::templates::{ClaimTemplate, Quantity, Revision};

/// The name of the set.
pub(crate) const SET: &str = "web";
/// The names of its templates. A set `a-web` with a template `data` gives the same names to its claims as the second one.
pub(crate) const TEMPLATE: [&str; 2] = ["data", "data-a"];
/// The label of a template.
pub(crate) const TIER: &str = "tier";

/// The texts of wishes, made once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    targets: FxHashMap<Target, (Vec<ClaimTemplate>, Revision)>,
    revisions: FxHashMap<String, Target>,
}

impl Names {
    fn of(&mut self, target: &Target) -> &(Vec<ClaimTemplate>, Revision) {
        let revisions = &mut self.revisions;
        self.targets.entry(*target).or_insert_with(|| {
            let templates = ClaimTemplate::read_list(&text(target)).unwrap_or_default();
            let revision = Revision::of(&templates);
            revisions.insert(revision.to_string(), *target);
            (templates, revision)
        })
    }

    /// The templates of a wish.
    pub(crate) fn templates(&mut self, target: &Target) -> Vec<ClaimTemplate> {
        self.of(target).0.clone()
    }

    /// The revision of a wish.
    pub(crate) fn revision(&mut self, target: &Target) -> Revision {
        self.of(target).1.clone()
    }

    /// The wish of a revision that was made here.
    pub(crate) fn target(&self, revision: &str) -> Option<Target> {
        self.revisions.get(revision).copied()
    }
}

/// `spec.volumeClaimTemplates`
pub(crate) fn text(target: &Target) -> String {
    let items = target.wants().iter().zip(TEMPLATE).map(|(want, name)| {
        let labels = match want.tier {
            0 => String::new(),
            tier => format!(r#","labels":{{"{TIER}":"t{tier}"}}"#),
        };
        let class = match want.class {
            0 => String::new(),
            class => format!(r#","volumeAttributesClassName":"class-{class}""#),
        };
        format!(
            r#"{{"metadata":{{"name":"{name}"{labels}}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}Gi"}}}}{class}}}}}"#,
            want.size
        )
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The wish that a list of templates is.
pub(crate) fn target(templates: &[ClaimTemplate]) -> Target {
    let wants: Vec<Want> = templates.iter().map(want).collect();
    Target::of(&wants)
}

fn want(template: &ClaimTemplate) -> Want {
    Want {
        size: template.storage.as_ref().map_or(0, whole_gi),
        class: number(template.volume_attributes_class_name.as_deref(), "class-"),
        tier: number(template.labels.get(TIER).map(String::as_str), "t"),
    }
}

/// The Gi of a size; the model knows no others, so it rounds up, as drivers do.
pub(crate) fn whole_gi(size: &Quantity) -> u8 {
    let gi = size.bytes().map_or(0, |bytes| bytes.div_ceil(1 << 30));
    u8::try_from(gi).unwrap_or(u8::MAX)
}

/// The number in a name such as `class-2`; zero where there is none.
pub(crate) fn number(name: Option<&str>, prefix: &str) -> u8 {
    let digits = name.and_then(|name| name.strip_prefix(prefix));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The name of a class; nothing for zero.
pub(crate) fn class(class: u8) -> Option<String> {
    (class != 0).then(|| format!("class-{class}"))
}

/// So many Gi.
pub(crate) fn gi(size: u8) -> Quantity {
    Quantity::from_bytes(u64::from(size) << 30)
}
