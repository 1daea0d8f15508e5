//! Row C1: a StatefulSet is created.
//!
//! A staged change on a new StatefulSet is a copy, from a backup or another cluster. There are no PVCs yet, so there is
//! nothing to roll out: the new StatefulSet gets the staged templates.

use super::lookups::Lookups;
use super::own_annotations::{OURS, restore_annotations};
use super::request_templates::{policy, replace_set};
use super::scope::{consistent, is_by_controller, is_skipped};
use super::settings::{Mode, Settings};
use super::{message, user_keys};
use crate::claims::Manager;
use crate::templates::show::path_of;
use crate::templates::text::canonical_list;
use crate::templates::{ClaimName, ClaimTemplate, Diff, StagedChange, keys};
use crate::wire::{Denial, Edit, Object, Remarks, Review, Verdict};

pub(super) fn create(review: &Review<'_>, settings: &Settings, lookups: &mut dyn Lookups) -> Result<Verdict, Denial> {
    let new = consistent(review, review.object.as_ref(), "object")?;
    if is_audit(review, new) || is_by_controller(review, settings) {
        return Ok(Verdict::PASS);
    }
    let is_skipped = is_skipped(new, settings);
    if !is_skipped {
        user_keys::check(None, new, settings)?;
        user_keys::check_authority(review, None, new, settings, lookups)?;
    }
    if is_skipped || settings.mode == Mode::ValidateOnly {
        return restore_annotations(settings, None, new, &|key, _| OURS.contains(&key));
    }
    let mut remarks = Remarks::default();
    let mut edits = Vec::new();
    if let Some(text) = new.metadata.annotations.get(keys::STAGED) {
        match restored(new, settings, text) {
            Ok(None) => {}
            Ok(Some(Restored { templates, diff, kept })) => {
                let set = &new.metadata.name;
                if !diff.is_empty() {
                    remarks.warnings.push(message::restored(set, &diff));
                    edits.push(Edit::SetTemplates(canonical_list(&templates)));
                }
                remarks.warnings.extend(message::not_restored(set, &kept));
            }
            Err(why) => remarks.warnings.push(message::staged_removed(&why)),
        }
    }
    // `claim-rollout replace` runs with the account of its user.
    if review.options.field_manager != Manager::OURS {
        release(new, &mut edits, &mut remarks);
    }
    remarks.warnings.extend(user_keys::warnings(None, new));
    edits.extend(
        OURS.into_iter()
            .chain([keys::WITHDRAW])
            .filter(|key| new.metadata.annotations.get(key).is_some())
            .map(Edit::no_annotation),
    );
    Ok(Verdict::with(edits, remarks))
}

/// Takes off what the controller wrote for a replacement, if the StatefulSet is from a backup that was made meanwhile: the
/// finalizer, with which nobody else may create it, and the partition, with which no Pod would ever be updated.
fn release(new: &Object<'_>, edits: &mut Vec<Edit>, remarks: &mut Remarks) {
    let mut found = Vec::new();
    if let Some(finalizers) = new.finalizers_without(keys::REPLACING) {
        edits.push(Edit::SetFinalizers(finalizers));
        found.push(message::FINALIZER);
    }
    if new
        .pod_strategy()
        .is_ok_and(|strategy| strategy.partition == keys::HOLD)
    {
        edits.push(Edit::RemovePartition);
        found.push(message::PARTITION);
    }
    let retains = !found.is_empty() && new.retention().is_ok_and(|(deleted, _)| deleted == "Retain");
    found.extend(retains.then_some(message::RETAIN));
    let warnings = found.iter().map(|what| message::released(&new.metadata.name, what));
    remarks.warnings.extend(warnings);
}

/// What a copied staged change gives the new StatefulSet.
struct Restored {
    templates: Vec<ClaimTemplate>,
    /// The difference to the templates of the request.
    diff: Diff,
    /// The fields of the copied change that the request has otherwise: a restore may choose another storage class.
    kept: Diff,
}

/// The templates of the copied staged change, with the immutable fields of the request; `None` if the request asks for
/// them already.
fn restored(new: &Object<'_>, settings: &Settings, text: &str) -> Result<Option<Restored>, String> {
    let mut change = StagedChange::read_of_any(text).map_err(|error| error.to_string())?;
    let asked = ClaimTemplate::read_list(new.templates()).map_err(|error| error.to_string())?;
    let copied = change.templates.clone();
    for template in &mut change.templates {
        if let Some(asked) = asked.iter().find(|asked| asked.name == template.name) {
            template.spec.clone_from(&asked.spec);
            template.metadata.clone_from(&asked.metadata);
        }
    }
    let kept = Diff::between(&copied, &change.templates);
    let diff = Diff::between(&asked, &change.templates);
    if diff.is_empty() && kept.is_empty() {
        return Ok(None);
    }
    let rules = settings.rules_of_change(policy(new, Some(&change), settings), replace_set(new));
    if let Some(fault) = rules.faults(&diff, &change.templates, &asked).first() {
        return Err(fault.to_string());
    }
    for template in &change.templates {
        ClaimName::new(&template.name, &new.metadata.name, 0)
            .map_err(|error| format!("{}: {error}", path_of(&template.name)))?;
    }
    Ok(Some(Restored {
        templates: change.templates,
        diff,
        kept,
    }))
}

/// True iff the request is from Kubewarden's audit scanner, which sends a stored object as a CREATE. Stored objects are
/// never judged.
fn is_audit(review: &Review<'_>, object: &Object<'_>) -> bool {
    let metadata = &object.metadata;
    review.user.is_empty()
        && !metadata.uid.is_empty()
        && metadata.uid == review.uid
        && !metadata.resource_version.is_empty()
}
