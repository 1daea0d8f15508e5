//! The annotations that users write, and the values that they may give them.

use super::message;
use super::review::Object;
use super::settings::{ReCreate, Settings};
use super::verdict::Refusal;
use crate::templates::show::shown;
use crate::templates::{ReplaceSet, Sync, UpdatePolicy, keys};

/// A key, the values that it may have in words, and whether a value is one of them.
type Rule<'r> = (&'static str, &'static str, &'r dyn Fn(&str) -> bool);

/// Refuses an unknown value. Only values that the request sets or changes are judged: a set that was there before the
/// policy can still be scaled.
pub(super) fn check(old: Option<&Object<'_>>, new: &Object<'_>, settings: &Settings) -> Result<(), Refusal> {
    let recreate = settings.recreate == ReCreate::Allowed;
    let policies = if recreate {
        "OnClaimDelete, InPlace, ReCreate"
    } else {
        "OnClaimDelete, InPlace"
    };
    let is_policy = |text: &str| {
        let policy = text.parse::<UpdatePolicy>();
        policy.is_ok_and(|policy| recreate || policy != UpdatePolicy::ReCreate)
    };
    let is_sync = |text: &str| text.parse::<Sync>().is_ok();
    let is_replace_set = |text: &str| text.parse::<ReplaceSet>().is_ok();
    let is_bool = |text: &str| matches!(text, "true" | "false");
    let rules: [Rule<'_>; 4] = [
        (keys::UPDATE_POLICY, policies, &is_policy),
        (keys::SYNC, "LockStep, Async", &is_sync),
        (keys::REPLACE_SET, "Never, WhenComplete", &is_replace_set),
        (keys::PAUSED, "true, false", &is_bool),
    ];
    for (key, allowed, is_allowed) in rules {
        let Some(value) = new.metadata.annotations.get(key) else {
            continue;
        };
        let before = old.and_then(|old| old.metadata.annotations.get(key));
        if before != Some(value) && !is_allowed(value) {
            return Err(Refusal::forbidden(message::refusal(&format!(
                "annotation {key}: expected one of {allowed}, but found {}",
                shown(value)
            ))));
        }
    }
    Ok(())
}
