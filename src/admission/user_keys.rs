//! The annotations that users write, and their allowed values.

use super::lookups::Lookups;
use super::review::{Object, Review};
use super::settings::{ReCreate, Settings};
use super::verdict::Denial;
use super::{authority, message, ours};
use crate::templates::show::shown;
use crate::templates::user_keys::{USER_KEYS, UserKey, Values};
use crate::templates::{ReplaceSet, keys};

/// The update policies without `ReCreate`.
const WITHOUT_RECREATE: Values = Values::OneOf(&["OnClaimDelete", "InPlace"]);

/// Denies unknown values. Only values that the request sets or changes are judged: a set that is older than the policy
/// can still be scaled.
pub(super) fn check(old: Option<&Object<'_>>, new: &Object<'_>, settings: &Settings) -> Result<(), Denial> {
    for UserKey { key, mut values } in USER_KEYS {
        if key == keys::UPDATE_POLICY && settings.recreate != ReCreate::Allowed {
            values = WITHOUT_RECREATE;
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

/// Denies `replace-set: WhenComplete` unless the requester has the rights to replace the set.
pub(super) fn check_authority(
    review: &Review<'_>,
    old: Option<&Object<'_>>,
    new: &Object<'_>,
    settings: &Settings,
    lookups: &mut dyn Lookups,
) -> Result<(), Denial> {
    let replaces = new.metadata.annotations.get(keys::REPLACE_SET) == Some(ReplaceSet::WhenComplete.as_str());
    if replaces && is_written(old, new, keys::REPLACE_SET) {
        return authority::check(review, settings, authority::REPLACE, lookups);
    }
    Ok(())
}

/// Warnings about annotations that the request writes and that are unknown or not implemented.
pub(super) fn warnings(old: Option<&Object<'_>>, new: &Object<'_>) -> Vec<String> {
    let is_known = |key: &str| {
        key == keys::WITHDRAW || USER_KEYS.iter().any(|known| known.key == key) || ours::OURS.contains(&key)
    };
    let written = new.metadata.annotations.0.iter();
    let written = written.filter(|(key, _)| is_written(old, new, key));
    written
        .filter_map(|(key, value)| match &**key {
            keys::REPLACE_SET if value == ReplaceSet::WhenComplete.as_str() => Some(message::not_replaced()),
            key if is_known(key) => None,
            key => Some(message::unknown_key(key)),
        })
        .collect()
}
