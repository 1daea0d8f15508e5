//! The annotation with the staged change, as written by the policy.

use claim_rollout::templates::{ClaimTemplate, Phase, StagedChange, Staging, UpdatePolicy};
use serde_json::Value;

use super::choices::Choices;
use super::edits;
use super::set::templates_mut;
use super::values::UID;

/// A target of a StatefulSet: its templates after some edits, and the valid annotation for them. None if the edits make
/// the templates invalid.
pub(crate) fn target(set: &Value, choices: &mut dyn Choices) -> Option<(Value, String)> {
    let mut desired = set.clone();
    for _ in 0..=choices.below(2) {
        edits::of_template(templates_mut(&mut desired)?, choices);
    }
    let templates = templates_mut(&mut desired).map(|list| Value::Array(list.clone()))?;
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: (*choices.pick(&["helm", "kubectl", ""])).to_owned(),
        phase: if choices.one_in(4) {
            Phase::Complete
        } else {
            Phase::RollingOut
        },
        replicas: 0,
        staging: Staging::read("xz245")?,
        templates: ClaimTemplate::list_from_value(templates.clone()).ok()?,
        uid: UID.to_owned(),
        update_policy: *choices.pick(&[UpdatePolicy::InPlace, UpdatePolicy::OnClaimDelete]),
    };
    Some((templates, change.write().ok()?))
}
