//! The annotations that users write, and their allowed values.

use super::lookups::Lookups;
use super::request_templates::replace_set;
use super::scope::is_skipped;
use super::settings::{ReCreate, Settings};
use super::{authority, message, own_annotations};
use crate::templates::show::shown;
use crate::templates::user_keys::{USER_KEYS, UserKey, Values};
use crate::templates::{ReplaceSet, UpdatePolicy, keys};
use crate::wire::{Denial, Object, Review};

/// Denies unknown values. Only values that the request sets or changes are judged: a set that is older than the policy
/// can still be scaled.
pub(super) fn check(old: Option<&Object<'_>>, new: &Object<'_>, settings: &Settings) -> Result<(), Denial> {
    for UserKey { key, mut values } in USER_KEYS {
        if key == keys::UPDATE_POLICY && settings.recreate != ReCreate::Allowed {
            values = Values::OneOf(&UpdatePolicy::WITHOUT_RECREATE);
        }
        let Some(value) = new.metadata.annotations.get(key) else {
            continue;
        };
        if is_written(old, new, key) && !values.allow(value) {
            return Err(Denial::forbidden(message::denial(&format!(
                "annotation {key}: expected {}, but found {}",
                values.in_words(),
                shown(value)
            ))));
        }
    }
    Ok(())
}

/// True iff the request sets or changes the annotation.
fn is_written(old: Option<&Object<'_>>, new: &Object<'_>, key: &str) -> bool {
    let before = old.and_then(|old| old.metadata.annotations.get(key));
    let now = new.metadata.annotations.get(key);
    now.is_some() && now != before
}

/// Denies `replace-set: WhenComplete` unless the requester has the rights to replace the set. Who removes the owner that
/// kept the set from being managed has to have them like the one who writes the annotation.
pub(super) fn check_authority(
    review: &Review<'_>,
    old: Option<&Object<'_>>,
    new: &Object<'_>,
    settings: &Settings,
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    let before = old.filter(|old| !is_skipped(old, settings));
    if is_replaced(new) && is_written(before, new, keys::REPLACE_SET) {
        // Whoever creates a set may create sets.
        let rights = if old.is_some() {
            authority::REPLACE
        } else {
            &authority::REPLACE[..1]
        };
        return authority::check(review, settings, rights, lookups);
    }
    Ok(())
}

/// Denies a change of templates unless the requester has the rights that it needs under the update policy and, where the
/// set is replaced for it, those for that. [`check_authority`] asks for them if the request writes the annotation.
pub(super) fn check_rollout(
    review: &Review<'_>,
    settings: &Settings,
    (policy, renames): (UpdatePolicy, bool),
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    authority::check(review, settings, authority::rollout(policy), lookups)?;
    if renames || is_replaced(new) && is_replaced(old) {
        return authority::check(review, settings, authority::REPLACE, lookups);
    }
    Ok(())
}

fn is_replaced(set: &Object<'_>) -> bool {
    replace_set(set) == Some(ReplaceSet::WhenComplete)
}

/// Warnings about annotations that the request writes and that are unknown.
pub(super) fn warnings(old: Option<&Object<'_>>, new: &Object<'_>) -> Vec<String> {
    let is_known = |key: &str| {
        key == keys::WITHDRAW || USER_KEYS.iter().any(|known| known.key == key) || own_annotations::OURS.contains(&key)
    };
    let written = new.metadata.annotations.0.iter();
    let written = written.filter(|(key, _)| is_written(old, new, key));
    written
        .filter(|(key, _)| !is_known(key))
        .map(|(key, _)| message::unknown_key(key))
        .collect()
}
