//! Whether a PVC has to be deleted and created anew under the update policy `ReCreate`, because it cannot get its
//! template in place.

use super::reduced_request::reduce_request;
use super::snapshot::{PodView, Snapshot};
use crate::claims::Claim;
use crate::claims::compatible::differences;
use crate::gate::StagedAt;
use crate::templates::rules::Shrink;
use crate::templates::{ClaimTemplate, FrozenChange, RevisionLabel};

/// The finalizer of Kubernetes that keeps a PVC while a Pod uses it.
const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The reason of a PVC that differs although it was created after the change was staged.
pub(super) const CREATED_OTHERWISE: &str = "CreatedOtherwise";

/// What `ReCreate` means for a PVC that differs from its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReCreateNeed {
    /// The PVC has to be deleted: the differences.
    Due(String),
    /// The PVC is being deleted, by us: it has our mark.
    Begun,
    /// The PVC was created after the change was staged, or has its label, and differs all the same. It is not deleted:
    /// why.
    NotAllowed(String),
}

/// What `ReCreate` means for a PVC that is not being deleted; `None` if in-place changes bring it to its template, or if
/// nothing of this staging keeps it from that.
///
/// Only a difference that the staged change causes counts: in a field in which the live template differs from the
/// staged one. A PVC that was restored into another class long ago is no victim of a growth. Nor is a larger PVC, unless
/// the staged change makes the template smaller: an autoscaler or a human may have grown it.
///
/// A PVC may be deleted if it was created before the time in `claim-rollout.io/staged-at` and does not have the label of
/// this staging. A PVC of the same second is kept.
#[must_use]
pub fn find(
    snapshot: &Snapshot,
    template: &ClaimTemplate,
    claim: &Claim,
    label: &RevisionLabel,
) -> Option<ReCreateNeed> {
    let live = snapshot.set.live.iter().find(|live| live.name == template.name)?;
    let staged = FrozenChange::in_spec(&live.spec, &template.spec);
    let is_staged = |change: &FrozenChange| staged.iter().any(|staged| is_same_field(&staged.field, &change.field));
    let mut texts: Vec<String> = differences(template, &claim.spec)
        .filter(is_staged)
        .map(|change| difference(&change))
        .collect();
    let carries = label.is_on(&claim.labels);
    // What was updated may have grown since.
    if !carries {
        texts.extend(is_too_large(snapshot, live, template, claim));
    }
    let text = (!texts.is_empty()).then(|| texts.join(", "))?;
    let is_older = match snapshot.set.staged_at {
        StagedAt::At(at) => claim.created < at,
        // Nothing is deleted before the time is known.
        StagedAt::Absent | StagedAt::Unreadable => true,
    };
    Some(match (is_older, carries) {
        (true, false) => ReCreateNeed::Due(text),
        (true, true) => ReCreateNeed::NotAllowed(format!(
            "has {text} although it was updated for this change, so it is not deleted: withdraw the change and stage it \
             again, or delete the PVC and its Pod"
        )),
        (false, _) => ReCreateNeed::NotAllowed(format!(
            "was created with {text} after the change was staged, and would be again: check that the policy is called \
             for new PVCs, then delete the PVC and its Pod"
        )),
    })
}

/// True iff both paths are of one field. An object that only one side has is a difference as a whole, and one that both
/// have is compared field by field.
fn is_same_field(one: &str, other: &str) -> bool {
    let object = |path: &str| {
        let mut objects = ["spec.selector", "spec.dataSourceRef", "spec.dataSource"].into_iter();
        objects.find(|object| path == *object || path.starts_with(&format!("{object}.")))
    };
    one == other || object(one).is_some_and(|object_of_one| object(other) == Some(object_of_one))
}

/// The sizes, if the PVC is larger than its template, which the staged change makes smaller.
fn is_too_large(snapshot: &Snapshot, live: &ClaimTemplate, template: &ClaimTemplate, claim: &Claim) -> Option<String> {
    let wanted = template.storage?;
    let shrinks = live.storage > Some(wanted);
    let recovers = snapshot.settings.shrink == Shrink::Recover && reduce_request(claim, wanted) == Some(wanted);
    let is_too_large = shrinks && claim.request > wanted && !recovers;
    is_too_large.then(|| format!("spec.resources.requests.storage {} instead of {wanted}", claim.request))
}

fn difference(change: &FrozenChange) -> String {
    let [template, claim] = change.values();
    format!("{} {claim} instead of {template}", change.field)
}

impl ReCreateNeed {
    /// The reason in the status.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Due(_) => "ReCreate",
            Self::Begun => "ReCreating",
            Self::NotAllowed(_) => CREATED_OTHERWISE,
        }
    }

    /// The message in the status. `mounting` are the Pods that use the PVC.
    #[must_use]
    pub fn explain(&self, claim: &Claim, mounting: &[&PodView]) -> String {
        match self {
            Self::Due(differences) => {
                format!("is deleted with its data in its turn, and created anew: {differences}")
            }
            Self::NotAllowed(why) => why.clone(),
            Self::Begun => {
                let others = claim.finalizers.iter().filter(|one| *one != PVC_PROTECTION);
                let finalizers = others.map(|finalizer| format!("finalizer {finalizer}"));
                let pods = mounting.iter().map(|pod| format!("Pod {}", pod.name));
                let waits_for: Vec<String> = finalizers.chain(pods).collect();
                let waits_for = waits_for.join(", ");
                let waits = if waits_for.is_empty() { "" } else { "; it waits for " };
                format!("is being deleted, to be created anew{waits}{waits_for}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_same_field;

    #[test]
    fn object_of_one_side_is_the_same_field_as_its_parts() {
        for (one, other, expected) in [
            ("spec.storageClassName", "spec.storageClassName", true),
            ("spec.storageClassName", "spec.volumeMode", false),
            ("spec.selector", "spec.selector.matchLabels", true),
            ("spec.dataSource.name", "spec.dataSource.kind", true),
            ("spec.dataSource", "spec.dataSourceRef", false),
            ("spec.dataSourceRef.name", "spec.dataSource", false),
        ] {
            assert_eq!(is_same_field(one, other), expected, "{one} {other}");
        }
    }
}
