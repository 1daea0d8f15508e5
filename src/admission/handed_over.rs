//! Row H1: Kubernetes updates the claims of a set itself, as `spec.volumeClaimUpdatePolicy: InPlace` asks (KEP-4650).
//!
//! An API server that supports the field writes its default, `OnClaimDelete`, into every set. So the old object has the
//! field iff the API server supports it, and then it accepts other templates. The schema that it serves would not show
//! that: it also contains fields whose feature gate is off.

use super::lookups::Lookups;
use super::ours::OURS;
use super::review::{Object, Review};
use super::settings::Settings;
use super::verdict::{Denial, Edit, Verdict};
use super::{message, newer, user_keys, validate};
use crate::templates::rules::{Frozen, Shrink};
use crate::templates::text::write_list;
use crate::templates::{ClaimTemplate, Rules, StagedChange, UpdatePolicy, keys};

/// True iff Kubernetes updates the claims after the request. A staged change of a newer version cannot be handed over.
pub(super) fn is_on(old: &Object<'_>, new: &Object<'_>) -> bool {
    let [before, after] = [old, new].map(|set| &*set.spec.claim_update_policy);
    !before.is_empty() && UpdatePolicy::native(after) == UpdatePolicy::InPlace && !newer::is_on(old)
}

/// Judges the change like any other that claims follow in place. A request that leaves the live templates alone gets the
/// staged ones. Annotations that only the policy may write are removed, because nothing is staged any more.
pub(super) fn update(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    lookups: &mut dyn Lookups,
) -> Result<Verdict, Denial> {
    user_keys::check(Some(old), new, settings)?;
    user_keys::check_authority(review, Some(old), new, settings, lookups)?;
    let staged = staged(old).filter(|_| old.templates() == new.templates());
    let mut text = String::new();
    if let Some(templates) = &staged {
        write_list(templates, &mut text);
    }
    // The changes that KEP-4650 allows.
    let rules = Rules {
        shrink: Shrink::Deny,
        frozen: Frozen::Deny,
        ..settings.rules(UpdatePolicy::InPlace)
    };
    let (diff, mut remarks) = validate::judge(review, (settings, &rules), [old, new], staged, lookups)?;
    let mut edits = Vec::new();
    if !diff.is_empty() && !text.is_empty() {
        remarks
            .warnings
            .insert(0, message::handed_over(&new.metadata.name, &diff));
        edits.push(Edit::SetTemplates(text));
    }
    let found = |key: &&str| new.metadata.annotations.get(key).is_some();
    let ours = OURS.into_iter().chain([keys::WITHDRAW]).filter(found);
    edits.extend(ours.map(Edit::no_annotation));
    Ok(Verdict::with(edits, remarks))
}

/// The staged templates of a set; `None` if there is no staged change, or it cannot be read.
fn staged(set: &Object<'_>) -> Option<Vec<ClaimTemplate>> {
    let text = set.metadata.annotations.get(keys::STAGED)?;
    let change = StagedChange::read(text, &set.metadata.uid).ok()?;
    Some(change.templates)
}
