//! Row G1: the StatefulSet controller deletes a Pod whose claims may not be ready.
//!
//! Only the gate denies. If the Pod, the set or a claim cannot be read, the deletion is allowed; the controller updates
//! the claims anyway.

use super::lookups::{CannotAsk, Get, Lookups};
use super::message;
use super::scope::consistent;
use super::settings::Settings;
use super::views;
use crate::claims::Claim;
use crate::gate::{Gate, Pod};
use crate::wire::{Denial, Review, Verdict, read};

/// Whether the Pod may be deleted now.
pub(super) fn delete(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    if !settings.stateful_set_controller_accounts.contains(&review.user) {
        return Ok(Verdict::PASS);
    }
    let pod = consistent(review, review.old_object.as_ref(), "oldObject");
    let Some(pod) = pod.ok().and_then(views::pod) else {
        return Ok(Verdict::PASS);
    };
    if !pod.may_wait() {
        return Ok(Verdict::PASS);
    }
    match waits(review, settings, &pod, lookups) {
        Ok(Some(why)) => Err(Denial::forbidden(message::denial(&why))),
        Ok(None) | Err(_) => Ok(Verdict::PASS),
    }
}

/// Why the Pod waits, if it does. Reads the set, and the claims of the Pod only if a change rolls out.
fn waits(
    review: &Review<'_>,
    settings: &Settings,
    pod: &Pod,
    lookups: &mut dyn Lookups,
) -> Result<Option<String>, CannotAsk> {
    let Some(set) = lookups.get(&Get::set(review.namespace(), &pod.set_name))? else {
        return Ok(None);
    };
    let Some(set) = read(&set).as_ref().and_then(views::set) else {
        return Ok(None);
    };
    let Some(gate) = Gate::of(pod, &set, settings) else {
        return Ok(None);
    };
    if let Some(why) = gate.waits_anyway() {
        return Ok(Some(why));
    }
    for (name, template) in gate.claims() {
        let claim = lookups.get(&Get::claim(review.namespace(), name.as_str()))?;
        let claim = claim.as_deref().and_then(|text| Claim::read(text).ok());
        if let Some(why) = gate.waits_for(claim.as_ref(), template) {
            return Ok(Some(why));
        }
    }
    Ok(None)
}
