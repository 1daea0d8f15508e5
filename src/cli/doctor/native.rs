//! Checks whether Kubernetes can update PVCs itself: `spec.volumeClaimUpdatePolicy` (KEP-4650).

use super::facts::InstallationFacts;
use super::finding::Finding;

/// A warning if StatefulSets have the field. The API server writes its default into every StatefulSet, and only if its
/// feature gate is on; its schema also contains fields whose gate is off.
pub(super) fn judge(facts: &InstallationFacts) -> Option<Finding> {
    let has_field = facts.sets.iter().any(|seen| seen.has_native_policy);
    has_field.then(|| {
        Finding::warning("statefulsets.apps")
            .but(
                "a Kubernetes that cannot update PVCs itself",
                "spec.volumeClaimUpdatePolicy (KEP-4650)",
            )
            .fix(
                "set it in no StatefulSet that claim-rollout manages, or let Kubernetes update the PVCs (docs/uninstall.md, \
                 \"Move to Kubernetes with KEP-4650\")",
            )
    })
}
