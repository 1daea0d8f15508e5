//! Checks that the policy and the controller have the same settings.

use super::finding::Finding;
use crate::api::Settings;

/// Settings, and the object that contains them.
#[derive(Clone, Debug)]
pub(crate) struct PlacedSettings {
    /// The object as kubectl names it.
    pub(crate) place: String,
    /// It is the ConfigMap that the controller reads.
    pub(crate) is_of_controller: bool,
    /// The settings, or why they cannot be read.
    pub(crate) settings: Result<Settings, String>,
}

/// The settings that can be read. Those of the controller are the last.
pub(super) fn readable(placed: &[PlacedSettings]) -> impl DoubleEndedIterator<Item = &Settings> {
    placed.iter().filter_map(|placed| placed.settings.as_ref().ok())
}

/// The settings of the controller, if they can be read; else those of a policy, or the default ones.
pub(super) fn of_controller(placed: &[PlacedSettings]) -> Settings {
    readable(placed).next_back().cloned().unwrap_or_default()
}

/// One finding for each object that cannot be read, or differs from the ConfigMap; without one, from the first policy.
pub(super) fn judge(placed: &[PlacedSettings]) -> Vec<Finding> {
    let of_controller = placed.iter().find(|it| it.is_of_controller);
    let Some(reference) = of_controller.or_else(|| placed.first()) else {
        return Vec::new();
    };
    let unread = placed.iter().filter_map(|it| {
        let why = it.settings.as_ref().err()?;
        let finding = Finding::error(it.place.clone()).but("valid settings", why.clone());
        Some(finding.fix("correct them: https://github.com/claim-rollout/claim-rollout/blob/main/docs/settings.md lists them, with examples"))
    });
    let differ = placed.iter().filter(|it| match (&it.settings, &reference.settings) {
        (Ok(one), Ok(other)) => one != other,
        _ => false,
    });
    let differ = differ.map(|it| {
        Finding::error(it.place.clone())
            .but(
                format!("the settings in {}", reference.place),
                "other settings: what the policy allows, the controller may not do",
            )
            .fix("write the same settings into both, and restart the Deployments; with the chart, policy.settings is both")
    });
    unread.chain(differ).collect()
}
