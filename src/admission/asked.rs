//! What a StatefulSet in a request asks for: its templates, and the update policy in force.

use super::message;
use super::review::Object;
use super::settings::Settings;
use super::verdict::Denial;
use crate::templates::{ClaimTemplate, StagedChange, UpdatePolicy, keys};

/// The update policy of a set: its annotation, else the record's, else the setting.
pub(super) fn policy(set: &Object<'_>, change: Option<&StagedChange>, settings: &Settings) -> UpdatePolicy {
    if let Some(annotation) = set.metadata.annotations.get(keys::UPDATE_POLICY) {
        // One that nobody knows stands from before the policy was there; the controller leaves claims alone then, too.
        return annotation.parse().unwrap_or(UpdatePolicy::OnClaimDelete);
    }
    change.map_or(settings.default_update_policy, |change| change.update_policy)
}

/// The templates of a set, or why they cannot be read.
pub(super) fn read_templates(set: &Object<'_>, which: &str) -> Result<Vec<ClaimTemplate>, Denial> {
    ClaimTemplate::read_list(set.templates())
        .map_err(|error| Denial::forbidden(message::denial(&format!("request.{which}: {error}"))))
}

/// Gives every template the labels and annotations that it has in `current`; the names of those that had others.
pub(super) fn take_back_metadata(current: &[ClaimTemplate], asked: &mut [ClaimTemplate]) -> Vec<String> {
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
