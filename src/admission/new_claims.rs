//! Row P1: a claim that the StatefulSet controller makes for a set with a record is born as wished.
//!
//! The StatefulSet controller makes claims from the live templates, which a staged change leaves as they were. Without
//! this row a new replica would begin with the old size. Nothing here refuses: if something cannot be asked or is not
//! certain, the claim is born from the live template, and the controller brings it to the wish afterwards.

use super::fields::{self, Strings};
use super::lookups::{CannotAsk, Get, Lookups};
use super::message;
use super::object::read;
use super::review::{Object, Review};
use super::seen;
use super::settings::Settings;
use super::verdict::{Edit, Remarks, Verdict};
use crate::json::Error;
use crate::rollout::{self, SetView};
use crate::templates::{ClaimTemplate, Revision, keys};

/// A claim whose name could be of more sets than this is born from the live template. Each is a look-up, and all of
/// them together must fit into a policy-server's two seconds.
const MAX_SETS: usize = 20;

/// The longest name of a template: that of a volume.
const MAX_TEMPLATE_NAME: usize = 63;

/// The claim as it is born.
pub(super) fn create(
    review: &Review<'_>,
    settings: &Settings,
    claim: &Object<'_>,
    lookups: &mut dyn Lookups,
) -> Verdict {
    let by_controller = settings.stateful_set_controller_accounts.contains(&review.user);
    let name = if claim.metadata.name.is_empty() {
        &review.name
    } else {
        &claim.metadata.name
    };
    if !by_controller {
        return Verdict::PASS;
    }
    let Some((stem, ordinal)) = stem_and_ordinal(name) else {
        return Verdict::PASS;
    };
    let sets = possible_sets(stem);
    if sets.len() > MAX_SETS {
        let warnings = vec![message::new_claim_of_too_many(name, sets.len())];
        let audit = Vec::new();
        return Verdict::Pass(Remarks { warnings, audit });
    }
    let Ok(labels) = fields::strings(claim.metadata.labels) else {
        return Verdict::PASS;
    };
    let new_claim = NewClaim {
        review,
        settings,
        labels: &labels,
        ordinal,
    };
    match new_claim.target(&sets, lookups) {
        Ok(Some(target)) => target.edits(claim, &labels).map_or(Verdict::PASS, |edits| {
            let audit = vec![("revision", target.revision.to_string())];
            let warnings = Vec::new();
            Verdict::with(edits, Remarks { warnings, audit })
        }),
        Ok(None) => Verdict::PASS,
        Err(error) => Verdict::Pass(Remarks {
            warnings: vec![message::new_claim_unknown(name, &error)],
            audit: Vec::new(),
        }),
    }
}

/// A claim's name without its ordinal, and the ordinal as the StatefulSet controller writes it.
fn stem_and_ordinal(claim: &str) -> Option<(&str, u32)> {
    let (stem, digits) = claim.rsplit_once('-')?;
    let ordinal: u32 = digits.parse().ok()?;
    (ordinal.to_string() == digits).then_some((stem, ordinal))
}

/// The templates and sets that could have given this name to a claim: `<template>-<set>-<ordinal>` can be cut at each
/// dash before the ordinal. A template's name is a label, so longer ones are none.
fn possible_sets(stem: &str) -> Vec<(&str, &str)> {
    let cuts = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
    cuts.filter(|(template, set)| !template.is_empty() && template.len() <= MAX_TEMPLATE_NAME && !set.is_empty())
        .collect()
}

/// What a claim is to be born as. The templates are without the labels of the selector: those stay what they are.
struct Target {
    template: ClaimTemplate,
    live: ClaimTemplate,
    revision: Revision,
}

/// The claim that is created.
struct NewClaim<'b> {
    review: &'b Review<'b>,
    settings: &'b Settings,
    /// A tenant can make them so many that they are read only once.
    labels: &'b Strings<'b>,
    ordinal: u32,
}

impl NewClaim<'_> {
    /// The wish of the one set that the claim can be of; nothing if there is none, or more than one.
    fn target(&self, sets: &[(&str, &str)], lookups: &mut dyn Lookups) -> Result<Option<Target>, CannotAsk> {
        let mut found = None;
        let mut claimants = 0;
        for (template, set) in sets {
            let Some(text) = lookups.get(&Get::set(self.review.namespace(), set))? else {
                continue;
            };
            let Some(set) = read(&text).as_ref().and_then(seen::set) else {
                continue;
            };
            if set.live.iter().any(|live| live.name == *template) {
                claimants += 1;
                found = self.of_set(&set, template);
            }
        }
        Ok(found.filter(|_| claimants == 1))
    }

    /// The wish of a set for the claims of one of its templates: if its staged change counts, its selector selects the
    /// claim, and the replica is one that the rollout reaches. Keys of the selector keep the selector's values.
    fn of_set(&self, set: &SetView, template: &str) -> Option<Target> {
        let target = rollout::Target::staged(set, self.settings).ok()?;
        if self.ordinal < set.first_ordinal || set.is_below_partition(self.ordinal) {
            return None;
        }
        if !self.labels.contains_all(&set.match_labels) {
            return None;
        }
        let of_name = |templates: &[ClaimTemplate]| {
            let mut template = templates.iter().find(|one| one.name == template).cloned()?;
            template.labels.retain(|key, _| !set.match_labels.contains_key(key));
            Some(template)
        };
        Some(Target {
            template: of_name(&target.change.templates)?,
            live: of_name(&set.live)?,
            revision: target.revision,
        })
    }
}

impl Target {
    /// What makes the claim what is wished: its size (never a smaller one), its class, and the wish's labels and
    /// annotations in place of the live template's.
    fn edits(&self, claim: &Object<'_>, labels: &Strings<'_>) -> Result<Vec<Edit>, Error> {
        let mut edits = Vec::new();
        // Without its metadata: labels can be so many that making values of them takes longer than all the rest.
        let asks = format!(r#"{{"metadata":{{"name":"-"}},"spec":{}}}"#, claim.spec.text);
        let asks = ClaimTemplate::read(&asks).ok();
        let has = asks.as_ref().and_then(|asks| asks.storage);
        if let Some(storage) = self.template.storage.filter(|wanted| Some(*wanted) > has) {
            edits.push(Edit::SetStorage(storage));
        }
        let class = asks.and_then(|asks| asks.volume_attributes_class_name);
        if let Some(wanted) = self.template.volume_attributes_class_name.clone()
            && Some(&wanted) != class.as_ref()
        {
            edits.push(Edit::SetAttributesClass(wanted));
        }
        for key in self.live.labels.keys() {
            if !self.template.labels.contains_key(key) && get(labels, key).is_some() {
                edits.push(Edit::RemoveLabel(key.clone().into()));
            }
        }
        for (key, value) in &self.template.labels {
            if get(labels, key) != Some(value) {
                edits.push(Edit::SetLabel(key.clone().into(), value.clone()));
            }
        }
        if get(labels, keys::REVISION) != Some(self.revision.as_str()) {
            edits.push(Edit::SetLabel(keys::REVISION.into(), self.revision.to_string()));
        }
        self.annotate(claim, &mut edits)?;
        Ok(edits)
    }

    fn annotate(&self, claim: &Object<'_>, edits: &mut Vec<Edit>) -> Result<(), Error> {
        let annotations = fields::strings(claim.metadata.annotations_text)?;
        for key in self.live.annotations.keys() {
            if !self.template.annotations.contains_key(key) && get(&annotations, key).is_some() {
                edits.push(Edit::RemoveAnnotation(key.clone().into()));
            }
        }
        for (key, value) in &self.template.annotations {
            if get(&annotations, key) != Some(value) {
                edits.push(Edit::SetAnnotation(key.clone().into(), value.clone()));
            }
        }
        Ok(())
    }
}

fn get<'s>(strings: &'s Strings<'_>, key: &str) -> Option<&'s str> {
    strings.get(key).map(|value| &**value)
}
