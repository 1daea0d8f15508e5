//! Checks whether existing claims can be updated. Claims are read by name, never listed, and at most `maxPVCLookups`.

use super::cause::Cause;
use super::lookups::{CannotAsk, Get, Lookups};
use super::message;
use super::requested_change::RequestedChange;
use super::settings::{PvcChecks, Settings};
use crate::claims::compatible::{changes_class, in_place, recoverable};
use crate::claims::retention::PodUid;
use crate::claims::{AttributesClass, Belongs, Claim, Classes, Known, StorageClass, compatible};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::{Change, ClaimName, ClaimTemplate, Diff, UpdatePolicy};
use crate::wire::{Denial, Error};

/// Why claims cannot be updated: one warning for each cause, or a denial.
pub(super) fn check(
    change: &RequestedChange<'_>,
    diff: &Diff,
    lookups: &mut dyn Lookups,
) -> Result<Vec<String>, Denial> {
    let settings = change.settings;
    let applied = change.policy == UpdatePolicy::InPlace && settings.pvc_checks != PvcChecks::Ignore;
    // A smaller size is for new claims, if these may have one.
    let recovers =
        diff.takes_back() && settings.shrink == Shrink::Recover && settings.rules(change.policy).frozen == Frozen::Deny;
    if !(applied || recovers) {
        return Ok(Vec::new());
    }
    let fault = |error: Error| Denial::malformed(message::denial(&format!("request.object.spec: {}", error.fault)));
    let labels = change.new.match_labels().map_err(fault)?;
    let labels: Vec<(&str, &str)> = labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    let first = change.new.first_ordinal().map_err(fault)?;
    let mut checks = Checks {
        change,
        scope: if applied { Scope::Everything } else { Scope::Capacity },
        recovers,
        match_labels: &labels,
        lookups,
        storage: Cache::default(),
        attributes: Cache::default(),
        causes: Vec::new(),
        reached: Vec::new(),
    };
    let unchecked = checks.run(diff, first);
    let Checks { causes, reached, .. } = checks;
    let mut warnings: Vec<String> = reached.iter().map(message::claims_warned).collect();
    if applied {
        warnings.extend(verdict(settings, &causes, unchecked)?);
    }
    Ok(warnings)
}

/// The verdict according to the setting `pvcChecks`.
fn verdict(settings: &Settings, causes: &[Cause], unchecked: Result<i64, CannotAsk>) -> Result<Vec<String>, Denial> {
    let mut warnings = Vec::new();
    if settings.pvc_checks == PvcChecks::Deny {
        if !causes.is_empty() {
            return Err(Denial::forbidden(message::claims_denied(causes)));
        }
        if let Err(error) = &unchecked {
            return Err(Denial::forbidden(message::claims_unknown_denied(error)));
        }
    }
    warnings.extend(causes.iter().map(message::claims_warned));
    match unchecked {
        Err(error) => warnings.push(message::claims_unknown(&error)),
        Ok(0) => {}
        Ok(count) => warnings.push(message::claims_unchecked(count, settings.max_pvc_lookups)),
    }
    Ok(warnings)
}

/// What is checked of each claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Whether the claim can be updated.
    Everything,
    /// Only whether the claim has reached the growth that is to be undone; the classes do not matter.
    Capacity,
}

/// Objects that were read, by name.
type Cache<T> = Vec<(String, Known<T>)>;

struct Checks<'c, 'w> {
    change: &'c RequestedChange<'w>,
    scope: Scope,
    /// Whether a smaller size undoes a growth.
    recovers: bool,
    match_labels: &'c [(&'c str, &'c str)],
    lookups: &'c mut dyn Lookups,
    storage: Cache<StorageClass>,
    attributes: Cache<AttributesClass>,
    causes: Vec<Cause>,
    /// Claims that have reached the growth that is to be undone: they keep their size.
    reached: Vec<Cause>,
}

impl Checks<'_, '_> {
    /// Checks the claims of the changed templates, the highest ordinal first, until no lookups are left or one fails.
    /// Returns the number of claims that were not checked.
    fn run(&mut self, diff: &Diff, first: i64) -> Result<i64, CannotAsk> {
        let replicas = self.change.new.replicas().max(0);
        let templates = i64::try_from(diff.changed.len()).unwrap_or(i64::MAX);
        let mut left = i64::from(self.change.settings.max_pvc_lookups);
        let unchecked = replicas.saturating_mul(templates).saturating_sub(left).max(0);
        for ordinal in (0..replicas).rev().map(|index| first.saturating_add(index)) {
            for change in &diff.changed {
                if left == 0 {
                    return Ok(unchecked);
                }
                left -= 1;
                let template = self
                    .change
                    .asked
                    .iter()
                    .find(|template| template.name == change.template);
                let (Some(template), Ok(ordinal)) = (template, u32::try_from(ordinal)) else {
                    continue;
                };
                let takes_back = self.recovers && change.changes.iter().any(Change::is_smaller);
                self.check(template, ordinal, takes_back)?;
            }
        }
        Ok(0)
    }

    /// A claim that is larger than its template has reached the template, unless the change undoes that growth.
    fn check(&mut self, template: &ClaimTemplate, ordinal: u32, takes_back: bool) -> Result<(), CannotAsk> {
        let set = &self.change.new.metadata.name;
        // A change with invalid names was denied before.
        let Ok(name) = ClaimName::new(&template.name, set, ordinal) else {
            return Ok(());
        };
        let question = Get::claim(self.change.review.namespace(), name.as_str());
        let Some(text) = self.lookups.get(&question)? else {
            return Ok(());
        };
        let Ok(claim) = Claim::read(&text) else {
            add(&mut self.causes, "cannot be read".to_owned(), name.as_str());
            return Ok(());
        };
        if takes_back && let Some(obstacle) = recoverable(template, &claim) {
            add(&mut self.reached, obstacle.to_string(), name.as_str());
        }
        if self.scope == Scope::Capacity {
            return Ok(());
        }
        let template = in_place(template, &claim, self.change.settings.immutable_fields);
        let (storage, attributes) = self.classes(&template, &claim)?;
        let belongs = Belongs {
            set_uid: &self.change.old.metadata.uid,
            pod: &format!("{set}-{ordinal}"),
            pod_uid: PodUid::NotAsked,
            match_labels: self.match_labels,
        };
        let classes = Classes {
            storage: &storage,
            attributes: &attributes,
        };
        for obstacle in compatible(&template, &claim, &belongs, &classes) {
            add(&mut self.causes, obstacle.to_string(), name.as_str());
        }
        Ok(())
    }

    /// The classes that a claim needs for the update. Each class is read once.
    fn classes(
        &mut self,
        template: &ClaimTemplate,
        claim: &Claim,
    ) -> Result<(Known<StorageClass>, Known<AttributesClass>), CannotAsk> {
        let (mut storage, mut attributes) = (Known::Unknown, Known::Unknown);
        let modifies = changes_class(template, claim);
        if (template.storage > Some(claim.request) || modifies)
            && let Some(name) = claim.storage_class_name()
        {
            storage = self.storage_class(name)?;
        }
        if modifies && let Some(name) = template.volume_attributes_class_name.as_deref() {
            attributes = self.attributes_class(name)?;
        }
        Ok((storage, attributes))
    }

    fn storage_class(&mut self, name: &str) -> Result<Known<StorageClass>, CannotAsk> {
        if let Some((_, known)) = self.storage.iter().find(|(known, _)| known == name) {
            return Ok(known.clone());
        }
        let text = self
            .lookups
            .get(&Get::object("storage.k8s.io/v1", "StorageClass", None, name))?;
        let known = known(text.as_deref(), StorageClass::read);
        self.storage.push((name.to_owned(), known.clone()));
        Ok(known)
    }

    fn attributes_class(&mut self, name: &str) -> Result<Known<AttributesClass>, CannotAsk> {
        if let Some((_, known)) = self.attributes.iter().find(|(known, _)| known == name) {
            return Ok(known.clone());
        }
        let text = self
            .lookups
            .get(&Get::object("storage.k8s.io/v1", "VolumeAttributesClass", None, name))?;
        let known = known(text.as_deref(), AttributesClass::read);
        self.attributes.push((name.to_owned(), known.clone()));
        Ok(known)
    }
}

/// A class that cannot be decoded counts as unknown: the API server judges the update itself.
fn known<T>(text: Option<&str>, read: impl Fn(&str) -> Result<T, Error>) -> Known<T> {
    match text.map(read) {
        None => Known::Missing,
        Some(Ok(class)) => Known::Found(class),
        Some(Err(_)) => Known::Unknown,
    }
}

fn add(causes: &mut Vec<Cause>, what: String, claim: &str) {
    let claim = claim.to_owned();
    match causes.iter_mut().find(|cause| cause.what == what) {
        Some(cause) => cause.claims.push(claim),
        None => causes.push(Cause {
            what,
            claims: vec![claim],
        }),
    }
}
