//! Row P1: the StatefulSet controller creates a claim for a set with a staged change.
//!
//! The StatefulSet controller creates claims from the live templates, which a staged change does not alter. Without
//! this row, a new replica would start with the old size. This row never denies: if a lookup fails or the set is
//! ambiguous, the claim is created from the live template, and our controller updates it later.

use super::lookups::{CannotAsk, Get, Lookups};
use super::settings::Settings;
use super::{message, views};
use crate::gate::{SetView, Target};
use crate::templates::rules::FOR_NEW_CLAIMS;
use crate::templates::{ClaimTemplate, Quantity, RevisionLabel, keys, names};
use crate::wire::{Edit, Error, Object, Remarks, Review, Strings, Verdict, read, strings};

/// A claim whose name fits more sets is created from the live template. Each set is a lookup, and all lookups must fit
/// into the two seconds of a policy-server.
const MAX_SETS: usize = 20;

/// The longest name of a template, which is also the name of a volume.
const MAX_TEMPLATE_NAME: usize = 63;

/// Creates the claim from the desired template.
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
    let Some((stem, ordinal)) = names::stem_and_ordinal(name) else {
        return Verdict::PASS;
    };
    let sets = possible_sets(stem);
    if sets.len() > MAX_SETS {
        return Verdict::PASS.warning(vec![message::new_claim_of_too_many(name, sets.len())]);
    }
    let Ok(labels) = strings(claim.metadata.labels) else {
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
            let audit = vec![("revision", target.label.revision.to_string())];
            let warnings = Vec::new();
            Verdict::with(edits, Remarks { warnings, audit })
        }),
        Ok(None) => Verdict::PASS,
        Err(error) => Verdict::PASS.warning(vec![message::new_claim_unknown(name, &error)]),
    }
}

/// The pairs of template and set that fit the name of a claim: `<template>-<set>-<ordinal>` can be split at each dash
/// before the ordinal. The name of a template is a DNS label, so longer names are skipped.
fn possible_sets(stem: &str) -> Vec<(&str, &str)> {
    let cuts = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
    cuts.filter(|(template, set)| !template.is_empty() && template.len() <= MAX_TEMPLATE_NAME && !set.is_empty())
        .collect()
}

/// The target of a new claim. Its templates are without the labels of the selector, which do not change.
struct ClaimTarget {
    template: ClaimTemplate,
    live: ClaimTemplate,
    label: RevisionLabel,
}

/// The claim to be created.
struct NewClaim<'b> {
    review: &'b Review<'b>,
    settings: &'b Settings,
    /// Decoded once: a tenant can create very many labels.
    labels: &'b Strings<'b>,
    ordinal: u32,
}

impl NewClaim<'_> {
    /// The target for the claim; `None` unless exactly one set fits.
    fn target(&self, sets: &[(&str, &str)], lookups: &mut dyn Lookups) -> Result<Option<ClaimTarget>, CannotAsk> {
        let mut found = None;
        let mut claimants = 0;
        for (template, set) in sets {
            let Some(text) = lookups.get(&Get::set(self.review.namespace(), set))? else {
                continue;
            };
            let Some(set) = read(&text).as_ref().and_then(views::set) else {
                continue;
            };
            if set.live.iter().any(|live| live.name == *template) {
                claimants += 1;
                found = self.of_set(&set, template);
            }
        }
        Ok(found.filter(|_| claimants == 1))
    }

    /// The target for a claim of this set and template, if the staged change is valid, the selector of the set selects
    /// the claim, and the rollout reaches the replica. Keys of the selector keep their values.
    fn of_set(&self, set: &SetView, template: &str) -> Option<ClaimTarget> {
        let target = Target::staged(set, self.settings).ok()?;
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
        Some(ClaimTarget {
            template: of_name(&target.change.templates)?,
            live: of_name(&set.live)?,
            label: target.label,
        })
    }
}

impl ClaimTarget {
    /// The edits that bring the claim to its target: the spec, and labels and annotations in place of those of the live
    /// template.
    fn edits(&self, claim: &Object<'_>, labels: &Strings<'_>) -> Result<Vec<Edit>, Error> {
        let mut edits = Vec::new();
        let asks = claim.claim_spec();
        edits.extend(self.fields(asks.as_ref()));
        let has = asks.as_ref().and_then(|asks| asks.storage);
        if let Some(storage) = self.template.storage.filter(|wanted| self.is_new_size(*wanted, has)) {
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
        let label = self.label.text();
        if get(labels, keys::REVISION) != Some(&*label) {
            edits.push(Edit::SetLabel(keys::REVISION.into(), label));
        }
        self.annotate(claim, &mut edits)?;
        Ok(edits)
    }

    /// True iff the claim gets this size: a larger one, or a smaller one in place of that of the live template.
    fn is_new_size(&self, wanted: Quantity, has: Option<Quantity>) -> bool {
        Some(wanted) > has || (Some(wanted) < has && has == self.live.storage)
    }

    /// The edits of the immutable fields that differ from the live template. A value that the claim does not have from
    /// the live template stays: another webhook has set it.
    fn fields(&self, asks: Option<&ClaimTemplate>) -> impl Iterator<Item = Edit> {
        let changed = FOR_NEW_CLAIMS.into_iter().filter(move |field| {
            let [old, new] = [&self.live, &self.template].map(|template| template.spec.get(field));
            let has = asks.and_then(|asks| asks.spec.get(field));
            old != new && new != has && (old.is_none() || old == has)
        });
        changed.map(|field| {
            let value = self.template.spec.get(field).cloned();
            Edit::SetField(field, value)
        })
    }

    fn annotate(&self, claim: &Object<'_>, edits: &mut Vec<Edit>) -> Result<(), Error> {
        let annotations = strings(claim.metadata.annotations_text)?;
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
