//! Row U3, and U5 where it stages: is a wish allowed, may this user make it, would the claims follow it; then the record.

use super::lookups::Lookups;
use super::message::{self, SPEAKER};
use super::target::Target;
use super::verdict::{Denial, Remarks};
use super::{authority, checks};
use crate::templates::show::path;
use crate::templates::{ClaimName, ClaimTemplate, Diff, Phase, StagedChange, keys};

/// The record of a new wish and its text, if the difference that it makes is allowed.
pub(super) fn stage(
    target: Target<'_>,
    diff: &Diff,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(StagedChange, String), Denial> {
    judge(&target, diff)?;
    check_names(&target)?;
    authority::check(
        target.review,
        target.settings,
        authority::rollout(target.policy),
        lookups,
    )?;
    let checked = checks::of(&target, diff, lookups)?;
    let set = &target.new.metadata.name;
    remarks
        .warnings
        .push(message::staged(set, diff, target.new.replicas(), target.policy));
    remarks.warnings.extend(checked);
    staged_change(target, remarks)
}

/// The record of the templates that the set has, because its claims are to be brought to them.
pub(super) fn switch(
    target: Target<'_>,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(StagedChange, String), Denial> {
    check_names(&target)?;
    authority::check(
        target.review,
        target.settings,
        authority::rollout(target.policy),
        lookups,
    )?;
    let claims = target.new.replicas().saturating_mul(count(target.live));
    remarks
        .warnings
        .push(message::switched(&target.new.metadata.name, claims, target.policy));
    staged_change(target, remarks)
}

fn count(templates: &[ClaimTemplate]) -> i64 {
    i64::try_from(templates.len()).unwrap_or(i64::MAX)
}

/// Refuses the wish unless all of the difference that it makes is allowed.
pub(super) fn judge(target: &Target<'_>, diff: &Diff) -> Result<(), Denial> {
    let rules = target.settings.rules(target.policy);
    let faults = rules.faults(diff, &target.asked, target.live);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Denial::forbidden(message::faults(&faults, rules.metadata)))
}

/// Every claim that a replica could have must have a valid name, or the wish could never be reached.
fn check_names(target: &Target<'_>) -> Result<(), Denial> {
    let set = &target.new.metadata.name;
    for template in &target.asked {
        if let Err(error) = ClaimName::new(&template.name, set, 0) {
            let path = path(&template.name, "metadata.name");
            return Err(Denial::forbidden(message::denial(&format!("{path}: {error}"))));
        }
    }
    Ok(())
}

fn staged_change(target: Target<'_>, remarks: &mut Remarks) -> Result<(StagedChange, String), Denial> {
    let change = StagedChange {
        by: target.review.user.to_string(),
        manager: target.review.options.field_manager.to_string(),
        phase: Phase::RollingOut,
        templates: in_order_of(target.live, target.asked),
        uid: target.old.metadata.uid.to_string(),
        update_policy: target.policy,
    };
    if change.uid.is_empty() {
        return Err(Denial::malformed(format!(
            "{SPEAKER}request.oldObject: expected metadata.uid"
        )));
    }
    let revision = change.revision();
    let text = change.write_as(&revision).map_err(|error| {
        Denial::forbidden(message::denial(&format!(
            "the wanted templates do not fit the annotation {}: {error}; shorten their labels and annotations",
            keys::STAGED
        )))
    })?;
    remarks.audit.push(("revision", revision.to_string()));
    Ok((change, text))
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
