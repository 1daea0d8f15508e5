//! Checks whether Kubernetes can update PVCs itself: `spec.volumeClaimUpdatePolicy` (KEP-4650).

use super::facts::InstallationFacts;
use super::finding::Finding;

/// A warning if StatefulSets have the field. The API server writes its default into every StatefulSet, and only if its
/// feature gate is on; its schema also contains fields whose gate is off.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let has_field = facts.sets.iter().any(|seen| seen.set.native_policy.is_some());
    has_field.then(|| {
        Finding::warning("statefulsets.apps")
            .but(
                "a Kubernetes that cannot update PVCs itself",
                "spec.volumeClaimUpdatePolicy (KEP-4650)",
            )
            .fix(
                "hand the StatefulSets over to Kubernetes: set spec.volumeClaimUpdatePolicy: InPlace in their manifests \
                 (docs/uninstall.md, \"Move to Kubernetes with KEP-4650\")",
            )
    })
}
