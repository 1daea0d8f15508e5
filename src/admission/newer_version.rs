//! A staged change that a newer version of the policy wrote. It is kept, and only what does not depend on its content
//! is judged.

use super::lookups::Lookups;
use super::request_templates::read_templates;
use super::scope::is_skipped;
use super::settings::Settings;
use super::{message, own_annotations, user_keys};
use crate::templates::{Diff, StagedChange, UpdatePolicy, keys};
use crate::wire::{Denial, Edit, Object, Review, Verdict};

/// True iff the set has a staged change of a newer version.
pub(super) fn is_on(set: &Object<'_>) -> bool {
    set.metadata
        .annotations
        .get(keys::STAGED)
        .is_some_and(StagedChange::is_newer)
}

/// Judges an UPDATE. A change of the templates is denied, because the staged change would be lost. A request that could
/// roll the staged change out needs the right to patch claims. Annotations that only the policy may write are restored.
pub(super) fn update(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    let mut edits = Vec::new();
    if old.templates() != new.templates() {
        let [live, asked] = [read_templates(old, "oldObject")?, read_templates(new, "object")?];
        if !Diff::between(&live, &asked).is_empty() {
            return Err(Denial::forbidden(message::newer()));
        }
        edits.push(Edit::RestoreTemplates);
    }
    let annotation = |set: &Object<'_>| set.metadata.annotations.get(keys::UPDATE_POLICY).map(str::to_owned);
    let policy: UpdatePolicy = annotation(new)
        .and_then(|text| text.parse().ok())
        .unwrap_or(UpdatePolicy::InPlace);
    let is_freed = is_skipped(old, settings) && !is_skipped(new, settings);
    if policy != UpdatePolicy::OnClaimDelete && (is_freed || annotation(old) != annotation(new)) {
        user_keys::check_rollout(review, settings, (policy, false), [old, new], lookups)?;
    }
    let restored =
        own_annotations::restore_annotations(settings, Some(old), new, &|key, _| own_annotations::OURS.contains(&key))?;
    Ok(restored.with_edits(edits))
}
