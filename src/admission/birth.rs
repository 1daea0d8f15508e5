//! Row P1: a claim that the StatefulSet controller makes for a set with a record is born as wished.
//!
//! The StatefulSet controller makes claims from the live templates, which a staged change leaves as they were. Without
//! this row a new replica would begin with the old size. Nothing here refuses: if something cannot be asked or is not
//! certain, the claim is born from the live template, and the controller brings it to the wish afterwards.

use super::decide::is_skipped;
use super::fields::{self, Strings};
use super::lookups::{CannotAsk, Get, Lookups};
use super::message;
use super::object::read;
use super::review::{Object, Review};
use super::settings::Settings;
use super::verdict::{Edit, Remarks, Verdict};
use crate::json::Error;
use crate::templates::{ClaimTemplate, Record, Revision, keys};

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
    let sets = possible_sets(name);
    // Whoever gives a set a name of twenty dashes gets claims from the live template.
    if !by_controller || sets.len() > settings.max_pvc_lookups as usize {
        return Verdict::PASS;
    }
    match wish(review, settings, claim, &sets, lookups) {
        Ok(Some(wish)) => wish.edits(claim).map_or(Verdict::PASS, |edits| {
            let audit = vec![("revision", wish.revision.to_string())];
            let warnings = Vec::new();
            Verdict::with(edits, Remarks { warnings, audit })
        }),
        Ok(None) => Verdict::PASS,
        Err(error) => Verdict::Pass(Remarks {
            warnings: vec![message::birth_unknown(name, &error)],
            audit: Vec::new(),
        }),
    }
}

/// The templates and sets that could have given this name to a claim: `<template>-<set>-<ordinal>` can be cut at each
/// dash before the ordinal.
fn possible_sets(claim: &str) -> Vec<(&str, &str)> {
    let Some((stem, ordinal)) = claim.rsplit_once('-') else {
        return Vec::new();
    };
    if ordinal.is_empty() || !ordinal.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let cuts = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
    cuts.filter(|(template, set)| !template.is_empty() && !set.is_empty())
        .collect()
}

/// What a claim is to be born as.
struct Wish {
    template: ClaimTemplate,
    live: ClaimTemplate,
    match_labels: Vec<String>,
    revision: Revision,
}

/// The wish of the one set that the claim can be of; nothing if there is none, or more than one.
fn wish(
    review: &Review<'_>,
    settings: &Settings,
    claim: &Object<'_>,
    sets: &[(&str, &str)],
    lookups: &mut dyn Lookups,
) -> Result<Option<Wish>, CannotAsk> {
    let labels = fields::strings(claim.metadata.labels).unwrap_or_default();
    let mut found = None;
    let mut claimants = 0;
    for (template, set) in sets {
        let question = Get {
            api_version: "apps/v1",
            kind: "StatefulSet",
            namespace: Some(review.namespace()),
            name: set,
        };
        let Some(text) = lookups.get(&question)? else {
            continue;
        };
        let Some(set) = read(&text) else {
            continue;
        };
        let Ok(live) = ClaimTemplate::read_list(set.templates()) else {
            continue;
        };
        let Some(live) = live.into_iter().find(|live| live.name == *template) else {
            continue;
        };
        claimants += 1;
        if !is_skipped(&set, settings) {
            found = of_set(&set, live, &labels);
        }
    }
    Ok(found.filter(|_| claimants == 1))
}

/// The wish of a set for the claims of one of its templates, if it has a record and its selector selects the claim.
fn of_set(set: &Object<'_>, live: ClaimTemplate, labels: &Strings<'_>) -> Option<Wish> {
    let record = Record::read(set.metadata.annotations.get(keys::STAGED)?, &set.metadata.uid).ok()?;
    let match_labels = fields::match_labels(set).ok()?;
    if !match_labels.iter().all(|label| labels.contains(label)) {
        return None;
    }
    let revision = record.revision();
    let template = record
        .templates
        .into_iter()
        .find(|template| template.name == live.name)?;
    Some(Wish {
        template,
        live,
        match_labels: match_labels.into_iter().map(|(key, _)| key.into_owned()).collect(),
        revision,
    })
}

impl Wish {
    /// What makes the claim what is wished: its size (never a smaller one), its class, and the wish's labels and
    /// annotations in place of the live template's. The selector's labels stay the selector's.
    fn edits(&self, claim: &Object<'_>) -> Result<Vec<Edit>, Error> {
        let mut edits = Vec::new();
        let asks = ClaimTemplate::read(claim.text).ok();
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
        let labels = fields::strings(claim.metadata.labels)?;
        let is_selectors = |key: &str| self.match_labels.iter().any(|label| label == key);
        for key in self.live.labels.keys().filter(|key| !is_selectors(key)) {
            if !self.template.labels.contains_key(key) && get(&labels, key).is_some() {
                edits.push(Edit::RemoveLabel(key.clone().into()));
            }
        }
        for (key, value) in self.template.labels.iter().filter(|(key, _)| !is_selectors(key)) {
            if get(&labels, key) != Some(value) {
                edits.push(Edit::SetLabel(key.clone().into(), value.clone()));
            }
        }
        if get(&labels, keys::REVISION) != Some(self.revision.as_str()) {
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
    strings
        .iter()
        .find(|(found, _)| found == key)
        .map(|(_, value)| &**value)
}
