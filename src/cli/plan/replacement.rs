//! Whether the set would be replaced after the rollout, and what would prevent it now. Pure.

use serde_json::Value;

use super::inputs::Inputs;
use super::report::{ReplacementOrigin, ReplacementReport};
use crate::admission::Settings;
use crate::controller::by_hand::{KnownSet, foreseen};
use crate::templates::keys;

/// The replacement of the stored set. None if nothing asks for it.
pub(super) fn replacement(inputs: &Inputs<'_>, stored: &Value, settings: &Settings) -> Option<ReplacementReport> {
    let all = |kind| inputs.state.all("v1", kind, &inputs.target.namespace);
    let known = KnownSet {
        set: stored,
        pods: inputs.state.can_read("Pod").then(|| all("Pod").collect()),
        claims: all("PersistentVolumeClaim").collect(),
        quotas: all("ResourceQuota").collect(),
    };
    let prevented_by = foreseen(&known, settings, inputs.now.saturating_mul(1_000))?;
    let annotation = &stored["metadata"]["annotations"][keys::REPLACE_SET];
    Some(ReplacementReport {
        asked_by: if annotation.is_string() {
            ReplacementOrigin::Annotation
        } else {
            ReplacementOrigin::Setting
        },
        prevented_by,
    })
}
