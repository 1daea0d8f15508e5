//! Whether a request is judged: its sender, the owner of the StatefulSet, and whether its parts are consistent.

use super::message::PREFIX;
use super::settings::Settings;
use crate::wire::{Denial, Object, Review};

/// Row C2.
pub(super) fn is_by_controller(review: &Review<'_>, settings: &Settings) -> bool {
    settings.controller_accounts.contains(&review.user)
}

/// True iff another controller owns the set: that controller would undo a staged change.
pub(super) fn is_skipped(set: &Object<'_>, settings: &Settings) -> bool {
    let owner = set.metadata.controller.as_ref();
    owner.is_some_and(|owner| settings.skips_owned_by(owner.group(), &owner.kind))
}

/// The object, if it exists and matches the request.
pub(super) fn consistent<'r, 'a>(
    review: &Review<'a>,
    object: Option<&'r Object<'a>>,
    which: &str,
) -> Result<&'r Object<'a>, Denial> {
    let fault = |what: &str| Denial::malformed(format!("{PREFIX}request.{which}: expected {what}"));
    let (api_version, kind) = review.about().object_kind();
    let object = object.ok_or_else(|| fault(&format!("a {kind}, but found nothing")))?;
    if object.kind != kind || object.api_version != api_version {
        return Err(fault("an object of request.kind"));
    }
    let differs =
        |of_request: &str, of_object: &str| !of_request.is_empty() && !of_object.is_empty() && of_request != of_object;
    if differs(&review.name, &object.metadata.name) {
        return Err(fault("the name in request.name"));
    }
    if differs(&review.namespace, &object.metadata.namespace) {
        return Err(fault("the namespace in request.namespace"));
    }
    Ok(object)
}
