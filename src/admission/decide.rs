//! The table of decision one, in its order.
//!
//! *live* = the old object's templates, *asked* = the new object's, *staged* = the valid record in the old object,
//! *current* = staged, else live.
//!
//! | # | request | verdict |
//! |---|---|---|
//! | C1 | CREATE | what only the policy may write is removed; templates that were staged in a backup are the templates; user keys are checked |
//! | C2 | UPDATE by one of the controller's accounts | Pass |
//! | C3 | other kinds and subresources, CONNECT, a set that another controller owns before and after | Pass; what only the policy may write is put back, and while a change is staged so is what could make it roll out |
//! | S1 | UPDATE of the status | our annotations are put back; if the owner is taken away, authority is asked as for U5 |
//! | U0 | asked = live, nothing staged | Pass; a forged record is removed, with a warning if it was there before |
//! | U1 | asked = live, staged | the record is kept as it was; or withdrawn, if the request goes back on purpose, and with `shrink: Recover` the live templates are staged in its place; one of a newer version is kept, whatever is asked |
//! | U2 | asked = staged: the same wish again | live restored, record kept |
//! | U3 | asked is a new wish | `diff(current, asked)` allowed: Stage; else Deny |
//! | U5 | what is staged would roll out from now on, or the update policy does with nothing staged | authority is asked as for U3; the live templates are staged |
//! | P1 | a claim is made for a replica at or above the partition, with a record | it is born as wished, if the settings still allow that |
//! | G1 | the StatefulSet controller deletes a Pod | denied while its claims are to be ready first: the [gate](crate::gate) |
//! | R1 | claims are about to be deleted (KEP-1847) | a warning or a denial names them |
//! | K1 | OpenKruise's StatefulSet | as U3, but nothing is staged |
//! | N1 | `mode: ValidateOnly` | as U3, but what is allowed passes; who writes what only the policy may write is denied |

use super::create::create;
use super::judged::{consistent, is_by_controller, is_skipped};
use super::lookups::Lookups;
use super::message::{self, SPEAKER};
use super::review::{About, Object, Operation, Review};
use super::settings::{Mode, Settings};
use super::update::{self, Update};
use super::verdict::{Denial, Verdict};
use super::{gate, new_claims, ours, retention, validate};

/// Decides what becomes of a request.
///
/// Total and deterministic. It asks `lookups` only where a row says so, by name and within `maxPVCLookups`.
///
/// # Guarantees
/// * S14: a request that changes no template and leaves our annotations alone passes, without any edit.
/// * S15: what is staged is the semantic difference and nothing else; a frozen field, a shrink, an added or removed
///   template is refused.
/// * S16: what is inconsistent is refused.
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
            "{SPEAKER}request.operation: expected CREATE, UPDATE, DELETE or CONNECT"
        ))
    })?;
    let about = review.about();
    match (about, operation) {
        (About::Set, Operation::Create) => create(review, settings, lookups),
        (About::Set, Operation::Update) => update(review, settings, lookups),
        (About::Set, Operation::Delete) => delete(review, settings, lookups),
        (About::Status, Operation::Update) => status(review, settings, lookups),
        (About::Scale, Operation::Update) => scale(review, settings, lookups),
        (About::KruiseSet, Operation::Create) => validate::create_of_kruise(review, settings),
        (About::KruiseSet, Operation::Update) => {
            let [old, new] = both(review)?;
            if is_skipped(old, settings) {
                return Ok(Verdict::PASS);
            }
            validate::update_of_kruise(review, settings, [old, new], lookups)
        }
        (About::Claim, Operation::Create) if settings.mode == Mode::Stage => {
            let claim = consistent(review, review.object.as_ref(), "object")?;
            Ok(new_claims::create(review, settings, claim, lookups))
        }
        (About::Pod, Operation::Delete) => gate::delete(review, settings, lookups),
        _ => Ok(Verdict::PASS),
    }
}

/// Rows U0 to U5, N1, and R1 beside them.
fn update(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    let [old, new] = both(review)?;
    if is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    // A request that takes the owner away is judged as if there had been none.
    if is_skipped(old, settings) && is_skipped(new, settings) {
        return ours::put_back(settings, Some(old), new, &ours::of_another_controller(old));
    }
    let warnings = retention::update(review, settings, [old, new], lookups)?;
    let verdict = match settings.mode {
        Mode::ValidateOnly => validate::update(review, settings, [old, new], lookups)?,
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
    // Nothing but row R1 reads what goes.
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

/// Row S1: an update of the status stores annotations and owners as well, and asks for no right to update StatefulSets.
fn status(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    if is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    let [old, new] = both(review)?;
    if settings.mode == Mode::Stage && is_skipped(old, settings) && !is_skipped(new, settings) {
        update::check_freed(review, settings, old, lookups)?;
    }
    ours::put_back(settings, Some(old), new, &|_, _| true)
}

fn both<'r, 'a>(review: &'r Review<'a>) -> Result<[&'r Object<'a>; 2], Denial> {
    let new = consistent(review, review.object.as_ref(), "object")?;
    let old = consistent(review, review.old_object.as_ref(), "oldObject")?;
    Ok([old, new])
}

#[cfg(test)]
#[path = "decide_tests/mod.rs"]
mod tests;
