//! Changes that the settings do not allow, whoever asks for them. The policy reverts what alice writes. The guard
//! checks rights and no ceilings, and alice has the right: there the controller does not roll the change out, and
//! reports why.

use anyhow::ensure;
use claim_rollout::templates::UpdatePolicy;
use serde_json::{Value, json};

use super::namespace::{Judges, TestedNamespace};
use crate::world::namespace::STAGED;
use crate::world::until;

/// A StatefulSet, and the field of its template that alice stages beyond a ceiling.
pub(super) const BEYOND: [(&str, &str, &str); 3] = [
    ("beyond-size", "spec/resources/requests/storage", "9Gi"),
    ("beyond-class", "spec/volumeAttributesClassName", "gold"),
    ("beyond-label", "metadata/labels/tier", "a"),
];

pub(super) fn settings() -> Value {
    json!({"maxStorage": {"*": "4Gi"}, "allowedVolumeAttributesClasses": ["silver"], "metadataOnlyChanges": "Deny"})
}

pub(super) fn is_beyond(name: &Value) -> bool {
    name.as_str()
        .is_some_and(|name| BEYOND.iter().any(|(set, ..)| name == *set))
}

/// alice writes a staged change as the policy would, to be rolled out, but beyond a ceiling.
pub(super) async fn stage_beyond_ceilings(ns: &TestedNamespace<'_>) -> anyhow::Result<()> {
    for (set, path, value) in BEYOND {
        let forged = ns.staged_change(set, UpdatePolicy::InPlace, path, value).await?;
        let annotation = format!("{STAGED}={forged}");
        let annotate = ["annotate", "--overwrite", &format!("statefulset/{set}"), &annotation];
        ns.done(Some(&ns.alice), &annotate, "").await?;
        if ns.judges != Judges::Guard {
            continue;
        }
        let stored = ns.get(&format!("statefulset/{set}")).await?;
        ensure!(stored["metadata"]["annotations"][STAGED] == *forged, "{stored:#}");
        let rollout = format!("claimrollout/{set}");
        let is_reported = |rollout: &Value| {
            let mut conditions = rollout["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|one| one["type"] == "Stalled" && one["reason"] == "StagedChangeNotAllowed")
        };
        until(
            "the controller to report the reason",
            async || ns.get(&rollout).await,
            is_reported,
        )
        .await?;
    }
    Ok(())
}
