//! The table of decision one, in its order.
//!
//! *live* = the templates of the old object, *asked* = those of the new object, *staged* = those of the valid staged
//! change in the old object, *current* = staged, else live.
//!
//! | # | request | verdict |
//! |---|---|---|
//! | C1 | CREATE | annotations that only the policy may write are removed; the templates of a staged change from a backup become the templates; user keys are checked |
//! | C2 | CREATE or UPDATE by an account of the controller | Pass; the matchConditions keep these requests from the policy, so that they succeed without it |
//! | C3 | other kinds and subresources, CONNECT, a set that another controller owns before and after | Pass; annotations that only the policy may write are restored; while a change is staged, also those that could roll it out |
//! | S1 | UPDATE of the status | our annotations are restored; if the owner is removed, authority is checked as for U5 |
//! | U0 | asked = live, nothing staged | Pass; a forged staged change is removed, with a warning if it existed before the request |
//! | U1 | asked = live, staged | the staged change is kept; if the request returns to the live templates on purpose, the staged change is withdrawn, and with `shrink: Recover` the live templates are staged instead; a staged change of a newer version is always kept |
//! | U2 | asked = staged | live restored, staged change kept; staged anew if the controller does not roll it out, because it is older than the policy |
//! | U3 | other templates | `diff(current, asked)` allowed: Stage; else Deny |
//! | U5 | the request makes a staged change roll out, or switches to an update policy that rolls out while nothing is staged | authority is checked as for U3; if nothing was staged, the live templates are staged |
//! | P1 | a claim is created for a replica at or above the partition, and a change is staged | the claim is created from the desired template, if the settings still allow that |
//! | G1 | the StatefulSet controller deletes a Pod | denied until its claims are ready: the [gate](crate::gate) |
//! | R1 | the retention policy (KEP-1847) would delete claims | a warning or a denial names them |
//! | K1 | a StatefulSet of OpenKruise | as U3, but nothing is staged; with `update-policy: InPlace`, which our controller rolls out, authority is checked as for U5 |
//! | N1 | `mode: ValidateOnly` | as U3, but allowed changes pass; writing annotations that only the policy may write is denied |

use super::create::create;
use super::lookups::Lookups;
use super::message::{self, PREFIX};
use super::scope::{consistent, is_by_controller, is_skipped};
use super::settings::{Mode, Settings};
use super::update::Update;
use super::{gate, mutable_templates, new_claims, own_annotations, owner_removal, retention, user_keys};
use crate::wire::{About, Denial, Object, Operation, Review, Verdict};

/// Returns the verdict on a request.
///
/// Total and deterministic. It uses `lookups` only in rows that need them, by name and within `maxPVCLookups`.
///
/// # Guarantees
/// * S14: a request that changes no template and leaves our annotations alone passes, without any edit.
/// * S15: only the semantic difference is staged; a change of a frozen field, a shrink, an added or removed template is
///   denied.
/// * S16: an inconsistent request for a StatefulSet is denied; one for a PVC or a Pod passes.
#[must_use]
pub fn admit(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Verdict {
    let mut verdict = decide(review, settings, lookups).unwrap_or_else(Verdict::Deny);
    if let Verdict::Pass(remarks) | Verdict::Stage(_, remarks) = &mut verdict {
        message::bound(&mut remarks.warnings);
    }
    verdict
}

fn decide(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    let operation = review.operation().ok_or_else(|| {
        Denial::malformed(format!(
            "{PREFIX}request.operation: expected CREATE, UPDATE, DELETE or CONNECT"
        ))
    })?;
    let about = review.about();
    match (about, operation) {
        (About::Set, Operation::Create) => create(review, settings, lookups),
        (About::Set, Operation::Update) => update(review, settings, lookups),
        (About::Set, Operation::Delete) => delete(review, settings, lookups),
        (About::Status, Operation::Update) => status(review, settings, lookups),
        (About::Scale, Operation::Update) => scale(review, settings, lookups),
        (About::KruiseSet, Operation::Create) => mutable_templates::create_of_kruise(review, settings, lookups),
        (About::KruiseSet, Operation::Update) => {
            let [old, new] = both(review)?;
            if is_by_controller(review, settings) || is_skipped(old, settings) && is_skipped(new, settings) {
                return Ok(Verdict::PASS);
            }
            mutable_templates::update_of_kruise(review, settings, [old, new], lookups)
        }
        (About::Claim, Operation::Create) if settings.mode == Mode::Stage => {
            let claim = consistent(review, review.object.as_ref(), "object");
            Ok(claim.map_or(Verdict::PASS, |claim| {
                new_claims::create(review, settings, claim, lookups)
            }))
        }
        (About::Pod, Operation::Delete) => gate::delete(review, settings, lookups),
        _ => Ok(Verdict::PASS),
    }
}

/// Rows U0 to U5, N1 and R1.
fn update(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    let [old, new] = both(review)?;
    if is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    // A request that removes the owner is judged as if there had been no owner.
    if is_skipped(old, settings) && is_skipped(new, settings) {
        return own_annotations::restore_annotations(
            settings,
            Some(old),
            new,
            &own_annotations::of_another_controller(old),
        );
    }
    let warnings = retention::update(review, settings, [old, new], lookups)?;
    let verdict = match settings.mode {
        Mode::ValidateOnly => mutable_templates::update(review, settings, [old, new], lookups)?,
        Mode::Stage => Update {
            review,
            settings,
            old,
            new,
        }
        .decide(lookups)?,
    };
    Ok(verdict.warning(warnings))
}

/// Row R1.
fn delete(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    // Only row R1 reads the deleted object.
    if !retention::is_on(settings) {
        return Ok(Verdict::PASS);
    }
    let old = consistent(review, review.old_object.as_ref(), "oldObject")?;
    if is_skipped(old, settings) || is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    let warnings = retention::delete(review, settings, old, lookups)?;
    Ok(Verdict::PASS.warning(warnings))
}

/// Row R1: `kubectl scale`, autoscalers.
fn scale(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    if !retention::is_on(settings) || is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    let [old, new] = both(review)?;
    let warnings = retention::scale(review, settings, [old, new], lookups)?;
    Ok(Verdict::PASS.warning(warnings))
}

/// Row S1: an update of the status also stores annotations and owners, without the right to update StatefulSets.
fn status(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    if is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    let [old, new] = both(review)?;
    if settings.mode == Mode::Stage && is_skipped(old, settings) && !is_skipped(new, settings) {
        owner_removal::check(review, settings, old, lookups)?;
        user_keys::check_authority(review, Some(old), old, settings, lookups)?;
    }
    own_annotations::restore_annotations(settings, Some(old), new, &|_, _| true)
}

fn both<'r, 'a>(review: &'r Review<'a>) -> Result<[&'r Object<'a>; 2], Denial> {
    let new = consistent(review, review.object.as_ref(), "object")?;
    let old = consistent(review, review.old_object.as_ref(), "oldObject")?;
    Ok([old, new])
}
