//! The templates of a StatefulSet in a request, and the update policy in force.

use super::message;
use super::settings::Settings;
use crate::templates::{ClaimTemplate, Diff, ReplaceSet, StagedChange, UpdatePolicy, keys};
use crate::wire::{Denial, Object};

/// The update policy of a set: its annotation, else that of the staged change, else the setting.
pub(super) fn policy(set: &Object<'_>, change: Option<&StagedChange>, settings: &Settings) -> UpdatePolicy {
    if let Some(annotation) = set.metadata.annotations.get(keys::UPDATE_POLICY) {
        // An unknown value is older than the policy; the controller does not change claims then, either.
        return annotation.parse().unwrap_or(UpdatePolicy::OnClaimDelete);
    }
    change.map_or(settings.default_update_policy, |change| change.update_policy)
}

/// The annotation `replace-set`.
pub(super) fn replace_set(set: &Object<'_>) -> Option<ReplaceSet> {
    set.metadata.annotations.get(keys::REPLACE_SET)?.parse().ok()
}

/// The templates of a set.
pub(super) fn read_templates(set: &Object<'_>, which: &str) -> Result<Vec<ClaimTemplate>, Denial> {
    ClaimTemplate::read_list(set.templates())
        .map_err(|error| Denial::forbidden(message::denial(&format!("request.{which}: {error}"))))
}

/// Restores the sizes that are smaller in `asked`: those of the current templates, or else of the live ones. Returns what
/// was asked for.
pub(super) fn restore_sizes(current_and_live: [&[ClaimTemplate]; 2], asked: &mut [ClaimTemplate]) -> Diff {
    let before = asked.to_vec();
    for template in &mut *asked {
        let larger = current_and_live
            .into_iter()
            .flatten()
            .find(|before| before.name == template.name && before.storage > template.storage);
        if let Some(before) = larger.filter(|_| template.storage.is_some()) {
            template.storage = before.storage;
        }
    }
    Diff::between(asked, &before)
}

/// Restores the labels and annotations of `current`. Returns the names of the templates that had others.
pub(super) fn restore_metadata(current: &[ClaimTemplate], asked: &mut [ClaimTemplate]) -> Vec<String> {
    let mut ignored = Vec::new();
    for template in asked {
        let Some(before) = current.iter().find(|before| before.name == template.name) else {
            continue;
        };
        if before.labels != template.labels || before.annotations != template.annotations {
            template.labels.clone_from(&before.labels);
            template.annotations.clone_from(&before.annotations);
            ignored.push(template.name.clone());
        }
    }
    ignored
}
