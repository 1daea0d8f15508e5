//! Annotations of our domain in requests that may not write them (rows C3, S1 and N1).

use super::message;
use super::settings::{Mode, Settings};
use crate::templates::{UpdatePolicy, keys};
use crate::wire::{Annotations, Denial, Edit, Object, Remarks, Verdict};

/// Whether the row restores an annotation with this new value; `None` if the request removes it.
type Concerns<'c> = &'c dyn Fn(&str, Option<&str>) -> bool;

/// The annotations that only the policy and the controller write.
pub(super) const OURS: [&str; 4] = [keys::STAGED, keys::PHASE, keys::READY, keys::STAGED_AT];

/// The annotations to restore on a set of another controller: those that only the policy may write and, while a change
/// is staged, those that could roll it out. Annotations that stop a rollout are allowed.
pub(super) fn of_another_controller(old: &Object<'_>) -> impl Fn(&str, Option<&str>) -> bool {
    let is_staged = old.metadata.annotations.get(keys::STAGED).is_some();
    move |key, value| OURS.contains(&key) || is_staged && !is_escape(key, value)
}

/// True iff the annotation stops or withdraws a rollout.
fn is_escape(key: &str, value: Option<&str>) -> bool {
    match key {
        keys::UPDATE_POLICY => value.is_some_and(|text| text.parse() == Ok(UpdatePolicy::OnClaimDelete)),
        keys::PAUSED | keys::WITHDRAW => true,
        _ => false,
    }
}

/// Restores the annotations that concern the row to those of the old object. In mode `ValidateOnly`, denies a request
/// that adds or changes one.
pub(super) fn restore_annotations(
    settings: &Settings,
    old: Option<&Object<'_>>,
    new: &Object<'_>,
    concerns: Concerns<'_>,
) -> Result<Verdict, Denial> {
    let nothing = Annotations::default();
    let was = old.map_or(&nothing, |old| &old.metadata.annotations);
    let now = &new.metadata.annotations;
    if settings.mode == Mode::ValidateOnly {
        let mut written = now.0.iter().filter(|(key, value)| differs(was, key, value));
        return match written.find(|(key, value)| concerns(key, Some(value))) {
            Some((key, _)) => Err(Denial::forbidden(message::ours_only(key))),
            None => Ok(Verdict::PASS),
        };
    }
    let mut edits = Vec::new();
    for (key, value) in &now.0 {
        if differs(was, key, value) && concerns(key, Some(value)) {
            edits.push(restore(key, was.get(key)));
        }
    }
    for (key, value) in &was.0 {
        if now.get(key).is_none() && concerns(key, None) {
            edits.push(restore(key, Some(value)));
        }
    }
    Ok(Verdict::with(edits, Remarks::default()))
}

fn differs(was: &Annotations<'_>, key: &str, value: &str) -> bool {
    was.get(key) != Some(value)
}

fn restore(key: &str, before: Option<&str>) -> Edit {
    let key = key.to_owned().into();
    match before {
        Some(value) => Edit::SetAnnotation(key, value.to_owned()),
        None => Edit::RemoveAnnotation(key),
    }
}
