//! Row U5 for a StatefulSet that loses its owner.

use super::lookups::Lookups;
use super::request_templates::policy;
use super::settings::Settings;
use super::update::touches_claims;
use super::{authority, newer_version};
use crate::templates::{StagedChange, UpdatePolicy, keys};
use crate::wire::{Denial, Object, Review};

/// Row U5 for a request that only removes the owner that kept the set from being staged.
pub(super) fn check(
    review: &Review<'_>,
    settings: &Settings,
    old: &Object<'_>,
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    if newer_version::is_on(old) {
        return authority::check(review, settings, authority::rollout(UpdatePolicy::InPlace), lookups);
    }
    let text = old.metadata.annotations.get(keys::STAGED);
    let Some(change) = text.and_then(|text| StagedChange::read(text, &old.metadata.uid).ok()) else {
        return Ok(());
    };
    let policy = policy(old, Some(&change), settings);
    if !touches_claims(policy, settings) {
        return Ok(());
    }
    authority::check(review, settings, authority::rollout(policy), lookups)
}
