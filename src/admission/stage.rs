//! Rows U3 and U5: checks a change (is it allowed, does the requester have the rights, can the claims follow) and
//! stages it.

use super::lookups::Lookups;
use super::message::{self, PREFIX};
use super::request_templates::replace_set;
use super::requested_change::RequestedChange;
use super::views::natural;
use super::{checks, staged_message, user_keys};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::show::path;
use crate::templates::{
    ClaimName, ClaimTemplate, Diff, Phase, Revision, Rules, StagedChange, Staging, UpdatePolicy, keys,
};
use crate::wire::{Denial, Remarks};

/// Stages other templates: the staged change and its text.
pub(super) fn stage(
    change: RequestedChange<'_>,
    diff: &Diff,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(StagedChange, String), Denial> {
    let rules = change.settings.rules_of_change(change.policy, replace_set(change.new));
    judge(&change, diff, &rules)?;
    let of_set = Diff::between(change.live, &change.asked);
    check(&change, of_set.renames(), lookups)?;
    let checked = checks::check(&change, diff, lookups)?;
    let warnings = &mut remarks.warnings;
    // A PVC that has not grown yet may still grow to a size that is smaller than the staged one.
    let is_reached = diff.reaches_claims() || of_set.reaches_claims();
    let templates = if is_reached { diff.changed.len() } else { 0 };
    warnings.push(staged_message::staged(diff, &change.reach(), change.policy, templates));
    if change.settings.immutable_fields == Frozen::ForNewClaims {
        warnings.extend(staged_message::for_new_claims(diff));
    } else if rules.frozen == Frozen::Deny && diff.takes_back() {
        let recovers = change.settings.shrink == Shrink::Recover && change.policy == UpdatePolicy::InPlace;
        warnings.push(staged_message::smaller(recovers));
    }
    remarks.warnings.extend(staged_message::renamed(&of_set));
    remarks.warnings.extend(checked);
    staged_change(change, remarks)
}

/// Stages the live templates, so that existing claims are updated to them.
pub(super) fn switch(
    change: RequestedChange<'_>,
    lookups: &mut dyn Lookups,
    remarks: &mut Remarks,
) -> Result<(StagedChange, String), Denial> {
    check(&change, false, lookups)?;
    let checked = checks::check(&change, &Diff::of_all(change.live), lookups)?;
    let templates = change.live.len();
    remarks
        .warnings
        .push(staged_message::switched(&change.reach(), templates, change.policy));
    remarks.warnings.extend(checked);
    staged_change(change, remarks)
}

/// Denies the change unless the whole difference is allowed.
pub(super) fn judge(change: &RequestedChange<'_>, diff: &Diff, rules: &Rules<'_>) -> Result<(), Denial> {
    let faults = rules.faults(diff, &change.asked, change.live);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Denial::forbidden(message::faults(&faults, rules)))
}

/// Checks the names of the claims, without which the target revision could never be reached, and the rights of the
/// requester.
fn check(change: &RequestedChange<'_>, renames: bool, lookups: &mut dyn Lookups) -> Result<(), Denial> {
    let set = &change.new.metadata.name;
    for template in &change.asked {
        if let Err(error) = ClaimName::new(&template.name, set, 0) {
            let path = path(&template.name, "metadata.name");
            return Err(Denial::forbidden(message::denial(&format!("{path}: {error}"))));
        }
    }
    user_keys::check_rollout(
        change.review,
        change.settings,
        (change.policy, renames),
        [change.old, change.new],
        lookups,
    )
}

fn staged_change(asked: RequestedChange<'_>, remarks: &mut Remarks) -> Result<(StagedChange, String), Denial> {
    let templates = in_order_of(asked.live, asked.asked);
    let revision = Revision::of(&templates);
    let old = &asked.old.metadata;
    let change = StagedChange {
        by: asked.review.user.to_string(),
        manager: asked.review.options.field_manager.to_string(),
        phase: Phase::RollingOut,
        replicas: natural(asked.old.replicas().max(asked.new.replicas())),
        staging: Staging::of(&old.uid, &old.resource_version, &revision),
        templates,
        uid: old.uid.to_string(),
        update_policy: asked.policy,
    };
    if change.uid.is_empty() {
        return Err(Denial::malformed(format!(
            "{PREFIX}request.oldObject: expected metadata.uid"
        )));
    }
    let text = change.write_as(&revision).map_err(|error| {
        Denial::forbidden(message::denial(&format!(
            "the templates do not fit the annotation {}: {error}; ask for fewer of them, or for shorter metadata",
            keys::STAGED
        )))
    })?;
    remarks.audit.push(("revision", revision.to_string()));
    Ok((change, text))
}

/// The asked templates. With the names of the live templates, they are in the order of these, the only one that the API
/// server accepts; with other names the set is replaced, and gets the order of the request.
fn in_order_of(live: &[ClaimTemplate], asked: Vec<ClaimTemplate>) -> Vec<ClaimTemplate> {
    if live.iter().map(|one| &one.name).eq(asked.iter().map(|one| &one.name)) {
        return asked;
    }
    let of_name = |name: &str| asked.iter().find(|template| template.name == name).cloned();
    let ordered: Vec<ClaimTemplate> = live.iter().filter_map(|template| of_name(&template.name)).collect();
    if ordered.len() == asked.len() && live.len() == asked.len() {
        return ordered;
    }
    asked
}
