//! Row U3, and U5 where it stages: is a wish allowed, may this user make it, would the claims follow it; then the record.

use super::lookups::Lookups;
use super::message::{self, SPEAKER};
use super::verdict::{Refusal, Remarks};
use super::wish::Wish;
use super::{authority, checks};
use crate::templates::show::path;
use crate::templates::{ClaimName, ClaimTemplate, Diff, Phase, Record, keys};

/// The record of a new wish and its text, if the difference that it makes is allowed.
pub(super) fn stage(
    wish: Wish<'_>,
    diff: &Diff,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(Record, String), Refusal> {
    judge(&wish, diff)?;
    check_names(&wish)?;
    authority::check(wish.review, wish.settings, authority::rollout(wish.policy), lookups)?;
    let checked = checks::of(&wish, diff, lookups)?;
    let set = &wish.new.metadata.name;
    remarks
        .warnings
        .push(message::staged(set, diff, wish.new.replicas(), wish.policy));
    remarks.warnings.extend(checked);
    record(wish, remarks)
}

/// The record of the templates that the set has, because its claims are to be brought to them.
pub(super) fn switch(
    wish: Wish<'_>,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(Record, String), Refusal> {
    check_names(&wish)?;
    authority::check(wish.review, wish.settings, authority::rollout(wish.policy), lookups)?;
    let claims = wish.new.replicas().saturating_mul(count(wish.live));
    remarks
        .warnings
        .push(message::switched(&wish.new.metadata.name, claims, wish.policy));
    record(wish, remarks)
}

fn count(templates: &[ClaimTemplate]) -> i64 {
    i64::try_from(templates.len()).unwrap_or(i64::MAX)
}

/// Refuses the wish unless all of the difference that it makes is allowed.
pub(super) fn judge(wish: &Wish<'_>, diff: &Diff) -> Result<(), Refusal> {
    let rules = wish.settings.rules(wish.policy);
    let faults = rules.faults(diff, &wish.asked, wish.live);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Refusal::forbidden(message::faults(&faults, rules.metadata)))
}

/// Every claim that a replica could have must have a valid name, or the wish could never be reached.
fn check_names(wish: &Wish<'_>) -> Result<(), Refusal> {
    let set = &wish.new.metadata.name;
    for template in &wish.asked {
        if let Err(error) = ClaimName::new(&template.name, set, 0) {
            let path = path(&template.name, "metadata.name");
            return Err(Refusal::forbidden(message::refusal(&format!("{path}: {error}"))));
        }
    }
    Ok(())
}

fn record(wish: Wish<'_>, remarks: &mut Remarks) -> Result<(Record, String), Refusal> {
    let record = Record {
        by: wish.review.user.to_string(),
        manager: wish.review.options.field_manager.to_string(),
        phase: Phase::RollingOut,
        templates: in_order_of(wish.live, wish.asked),
        uid: wish.old.metadata.uid.to_string(),
        update_policy: wish.policy,
    };
    if record.uid.is_empty() {
        return Err(Refusal::malformed(format!(
            "{SPEAKER}request.oldObject: expected metadata.uid"
        )));
    }
    let revision = record.revision();
    let text = record.write_as(&revision).map_err(|error| {
        Refusal::forbidden(message::refusal(&format!(
            "the wanted templates do not fit the annotation {}: {error}; shorten their labels and annotations",
            keys::STAGED
        )))
    })?;
    remarks.audit.push(("revision", revision.to_string()));
    Ok((record, text))
}

/// The asked templates in the order of the live ones, the only one that the API server accepts. None is added or removed:
/// that is refused before.
fn in_order_of(live: &[ClaimTemplate], asked: Vec<ClaimTemplate>) -> Vec<ClaimTemplate> {
    if live.iter().map(|one| &one.name).eq(asked.iter().map(|one| &one.name)) {
        return asked;
    }
    let of_name = |name: &str| asked.iter().find(|template| template.name == name);
    live.iter()
        .filter_map(|template| of_name(&template.name))
        .cloned()
        .collect()
}
