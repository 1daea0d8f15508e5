//! The annotations that users write, and the values that they may give them.

use super::lookups::Lookups;
use super::review::{Object, Review};
use super::settings::{ReCreate, Settings};
use super::verdict::Refusal;
use super::{authority, message, ours};
use crate::templates::show::shown;
use crate::templates::{MaxInMotion, ProgressDeadline, ReplaceSet, Sync, UpdatePolicy, keys};

/// A key, the values that it may have in words, and whether a value is one of them.
type Rule<'r> = (&'static str, &'static str, &'r dyn Fn(&str) -> bool);

/// The keys that users write.
const KEYS: [&str; 7] = [
    keys::UPDATE_POLICY,
    keys::SYNC,
    keys::REPLACE_SET,
    keys::PAUSED,
    keys::PROGRESS_DEADLINE,
    keys::MAX_IN_MOTION,
    keys::WITHDRAW,
];

/// Denies an unknown value. Only values that the request sets or changes are judged: a set that was there before the
/// policy can still be scaled.
pub(super) fn check(old: Option<&Object<'_>>, new: &Object<'_>, settings: &Settings) -> Result<(), Refusal> {
    let recreate = settings.recreate == ReCreate::Allowed;
    let policies = if recreate {
        "one of OnClaimDelete, InPlace, ReCreate"
    } else {
        "one of OnClaimDelete, InPlace"
    };
    let is_policy = |text: &str| {
        let policy = text.parse::<UpdatePolicy>();
        policy.is_ok_and(|policy| recreate || policy != UpdatePolicy::ReCreate)
    };
    let is_sync = |text: &str| text.parse::<Sync>().is_ok();
    let is_replace_set = |text: &str| text.parse::<ReplaceSet>().is_ok();
    let is_bool = |text: &str| matches!(text, "true" | "false");
    let is_deadline = |text: &str| text.parse::<ProgressDeadline>().is_ok();
    let is_max = |text: &str| text.parse::<MaxInMotion>().is_ok();
    let rules: [Rule<'_>; 6] = [
        (keys::UPDATE_POLICY, policies, &is_policy),
        (keys::SYNC, "one of LockStep, Async", &is_sync),
        (keys::REPLACE_SET, "one of Never, WhenComplete", &is_replace_set),
        (keys::PAUSED, "one of true, false", &is_bool),
        (keys::PROGRESS_DEADLINE, ProgressDeadline::VALUES, &is_deadline),
        (keys::MAX_IN_MOTION, MaxInMotion::VALUES, &is_max),
    ];
    for (key, allowed, is_allowed) in rules {
        let Some(value) = new.metadata.annotations.get(key) else {
            continue;
        };
        let before = old.and_then(|old| old.metadata.annotations.get(key));
        if before != Some(value) && !is_allowed(value) {
            return Err(Refusal::forbidden(message::refusal(&format!(
                "annotation {key}: expected {allowed}, but found {}",
                shown(value)
            ))));
        }
    }
    Ok(())
}

/// True iff the request gives the annotation a value that it did not have.
fn is_written(old: Option<&Object<'_>>, new: &Object<'_>, key: &str) -> bool {
    let before = old.and_then(|old| old.metadata.annotations.get(key));
    let now = new.metadata.annotations.get(key);
    now.is_some() && now != before
}

/// Whoever has the StatefulSet replaced must be able to replace it.
pub(super) fn check_authority(
    review: &Review<'_>,
    old: Option<&Object<'_>>,
    new: &Object<'_>,
    settings: &Settings,
    lookups: &mut dyn Lookups,
) -> Result<(), Refusal> {
    let replaces = new.metadata.annotations.get(keys::REPLACE_SET) == Some(ReplaceSet::WhenComplete.as_str());
    if replaces && is_written(old, new, keys::REPLACE_SET) {
        return authority::check(review, settings, authority::REPLACE, lookups);
    }
    Ok(())
}

/// A line for each annotation of our domain that the request writes and nobody reads, and for what is not carried out.
pub(super) fn warnings(old: Option<&Object<'_>>, new: &Object<'_>) -> Vec<String> {
    let is_known = |key: &str| KEYS.contains(&key) || ours::OURS.contains(&key);
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
