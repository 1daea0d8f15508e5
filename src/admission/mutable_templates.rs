//! Rows N1 and K1: templates are mutable, so an allowed change passes unchanged.

use super::lookups::Lookups;
use super::message;
use super::request_templates::read_templates;
use super::requested_change::RequestedChange;
use super::scope::{consistent, is_by_controller, is_skipped};
use super::settings::{PvcChecks, Settings};
use super::stage;
use super::{authority, checks, own_annotations, user_keys};
use crate::templates::{Change, ClaimTemplate, Diff, Rules, UpdatePolicy, keys};
use crate::wire::{Denial, Error, Object, Remarks, Review, Verdict};

/// The strategy of OpenKruise under which claims follow their templates.
const ON_POD_ROLLING_UPDATE: &str = "OnPodRollingUpdate";

/// Row N1.
pub(super) fn update(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    own_annotations::restore_annotations(settings, Some(old), new, &|key, _| own_annotations::OURS.contains(&key))?;
    user_keys::check(Some(old), new, settings)?;
    user_keys::check_authority(review, Some(old), new, settings, lookups)?;
    let rules = settings.rules(UpdatePolicy::InPlace);
    judge(review, (settings, &rules), [old, new], lookups).map(|(_, remarks)| Verdict::Pass(remarks))
}

/// Row K1: unknown values of user keys are denied, and `update-policy: InPlace` needs the right to patch existing claims.
pub(super) fn create_of_kruise(
    review: &Review<'_>,
    settings: &Settings,
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    let new = consistent(review, review.object.as_ref(), "object")?;
    if !is_skipped(new, settings) && !is_by_controller(review, settings) {
        user_keys::check(None, new, settings)?;
        if is_rolled_out(new, settings) {
            authority::check(review, settings, authority::rollout(UpdatePolicy::InPlace), lookups)?;
        }
    }
    Ok(Verdict::PASS)
}

/// Row K1: the change is judged if claims follow their templates before or after the request, by OpenKruise's strategy
/// or by our update policy. Otherwise a switch could carry any change along.
pub(super) fn update_of_kruise(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    user_keys::check(Some(old), new, settings)?;
    let [before, after] = [old, new].map(|set| is_rolled_out(set, settings));
    let mut followed = [before, after];
    for (set, follows) in [old, new].into_iter().zip(&mut followed) {
        let fault = |error: Error| {
            let field = "request: spec.volumeClaimUpdateStrategy";
            Denial::malformed(message::denial(&format!("{field}: {}", error.fault)))
        };
        *follows |= set.claim_update_strategy().map_err(fault)? == ON_POD_ROLLING_UPDATE;
    }
    if followed == [false; 2] {
        return Ok(Verdict::PASS);
    }
    let rules = settings.rules(UpdatePolicy::InPlace);
    let (diff, mut remarks) = judge(review, (settings, &rules), [old, new], lookups)?;
    if diff.is_empty() && after && !before {
        authority::check(review, settings, authority::rollout(UpdatePolicy::InPlace), lookups)?;
    }
    // The switch rolls out templates that nobody has compared with the PVCs.
    if diff.is_empty() && followed == [false, true] {
        let live = read_templates(old, "oldObject")?;
        let change = change((review, settings), [old, new], &live)?;
        remarks.warnings = checks::check(&change, &Diff::of_all(&live), lookups)?;
    }
    let is_size = |change: &Change| matches!(change, Change::Storage { .. });
    let mut changes = diff.changed.iter().flat_map(|change| &change.changes);
    if !after && changes.any(|change| !is_size(change)) && settings.pvc_checks != PvcChecks::Ignore {
        remarks.warnings.push(message::kruise_applies_sizes_only());
    }
    Ok(Verdict::Pass(remarks))
}

/// True iff our controller rolls the templates of a StatefulSet of OpenKruise out.
fn is_rolled_out(set: &Object<'_>, settings: &Settings) -> bool {
    let policy = set.metadata.annotations.get(keys::UPDATE_POLICY);
    policy == Some(UpdatePolicy::InPlace.as_str()) && !is_skipped(set, settings)
}

/// Judges a change that existing claims follow in place.
fn judge(
    review: &Review<'_>,
    (settings, rules): (&Settings, &Rules<'_>),
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<(Diff, Remarks), Denial> {
    let mut remarks = Remarks::default();
    if old.templates() == new.templates() {
        return Ok((Diff::default(), remarks));
    }
    let live = read_templates(old, "oldObject")?;
    let change = change((review, settings), [old, new], &live)?;
    let diff = Diff::between(change.current, &change.asked);
    stage::judge(&change, &diff, rules)?;
    if !diff.is_empty() {
        authority::check(review, settings, authority::rollout(change.policy), lookups)?;
        remarks.warnings = checks::check(&change, &diff, lookups)?;
    }
    Ok((diff, remarks))
}

/// The change that existing claims follow in place.
fn change<'w>(
    (review, settings): (&'w Review<'w>, &'w Settings),
    [old, new]: [&'w Object<'w>; 2],
    live: &'w [ClaimTemplate],
) -> Result<RequestedChange<'w>, Denial> {
    Ok(RequestedChange {
        review,
        settings,
        old,
        new,
        policy: UpdatePolicy::InPlace,
        current: live,
        live,
        asked: read_templates(new, "object")?,
    })
}
