//! A staged change that a newer version of the policy wrote: it is kept, and nothing is judged beside it that would need to know
//! what it says.

use super::asked::read_templates;
use super::judged::is_skipped;
use super::lookups::Lookups;
use super::review::{Object, Review};
use super::settings::Settings;
use super::verdict::{Denial, Verdict};
use super::{authority, message, ours};
use crate::templates::{Diff, StagedChange, UpdatePolicy, keys};

/// True iff the StatefulSet has one.
pub(super) fn is_on(set: &Object<'_>) -> bool {
    set.metadata
        .annotations
        .get(keys::STAGED)
        .is_some_and(StagedChange::is_newer)
}

/// An UPDATE: a change of the templates is denied, because what is staged would be lost; whatever could make that roll out is
/// for who may patch PVCs; what only we write is put back.
pub(super) fn update(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    if old.templates() != new.templates() {
        let [live, asked] = [read_templates(old, "oldObject")?, read_templates(new, "object")?];
        if !Diff::between(&live, &asked).is_empty() {
            return Err(Denial::forbidden(message::newer()));
        }
    }
    let annotation = |set: &Object<'_>| set.metadata.annotations.get(keys::UPDATE_POLICY).map(str::to_owned);
    let policy: UpdatePolicy = annotation(new)
        .and_then(|text| text.parse().ok())
        .unwrap_or(UpdatePolicy::InPlace);
    let is_freed = is_skipped(old, settings) && !is_skipped(new, settings);
    if policy != UpdatePolicy::OnClaimDelete && (is_freed || annotation(old) != annotation(new)) {
        authority::check(review, settings, authority::rollout(policy), lookups)?;
    }
    ours::put_back(settings, Some(old), new, &|key, _| ours::OURS.contains(&key))
}
