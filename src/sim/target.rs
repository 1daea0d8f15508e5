//! The target of the set, by the rules of the settings. Independent of `rollout::Target`, which it checks.

use super::api::Api;
use super::objects::{ModelTarget, Want};
use super::settings::ModelSettings;
use crate::templates::UpdatePolicy;

/// The target that is rolled out to existing claims.
pub(crate) fn target_in_force(api: &Api) -> Option<ModelTarget> {
    let set = api.set?;
    target_in_effect(api).filter(|_| set.policy() == UpdatePolicy::InPlace)
}

/// The target that is staged for this set and allowed by the settings: for new claims, and perhaps for existing ones.
pub(crate) fn target_in_effect(api: &Api) -> Option<ModelTarget> {
    let set = api.set.filter(|set| !set.owned && !set.terminating)?;
    let target = set.staged_change()?.target;
    let (wanted, live) = (target.wants(), set.spec.live.wants());
    let is_for_new =
        |(wanted, live): (&Want, &Want)| wanted.size < live.size || wanted.storage_class != live.storage_class;
    let allowed = api.settings == ModelSettings::ForNewClaims || !wanted.iter().zip(live).any(is_for_new);
    (wanted.len() == live.len() && allowed).then_some(target)
}
