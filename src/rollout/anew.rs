//! Whether a PVC has to be deleted and created anew under the update policy `ReCreate`, because it cannot get its
//! template in place.

use super::lowered::lowered;
use super::snapshot::{PodView, Snapshot};
use crate::claims::Claim;
use crate::claims::compatible::differences;
use crate::templates::rules::Shrink;
use crate::templates::show::shown;
use crate::templates::{ClaimTemplate, FrozenChange, RevisionLabel};

/// The finalizer of Kubernetes that keeps a PVC while a Pod uses it.
const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// What `ReCreate` means for a PVC that differs from its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anew {
    /// The PVC has to be deleted: the differences.
    Due(String),
    /// The PVC is being deleted, by us: it has our mark.
    Begun,
    /// The PVC was created after the change was staged and differs all the same. It would be created like this again,
    /// so it is not deleted: the differences.
    Otherwise(String),
}

/// What `ReCreate` means for a PVC that is not being deleted; `None` if in-place changes bring it to its template.
///
/// A larger PVC is no difference unless the staged change makes the template smaller: an autoscaler or a human may have
/// grown it, and it would lose its data for nothing.
#[must_use]
pub fn anew(snapshot: &Snapshot, template: &ClaimTemplate, claim: &Claim, label: &RevisionLabel) -> Option<Anew> {
    let mut texts: Vec<String> = differences(template, &claim.spec)
        .map(|change| difference(&change))
        .collect();
    let is_new = claim.created > snapshot.desired(&label.revision);
    let carries = label.is_on(&claim.labels);
    // What was created at the revision may have grown since.
    if !(is_new && carries) {
        texts.extend(is_too_large(snapshot, template, claim));
    }
    let text = (!texts.is_empty()).then(|| texts.join(", "))?;
    Some(if is_new { Anew::Otherwise(text) } else { Anew::Due(text) })
}

/// The sizes, if the PVC is larger than its template, which the staged change makes smaller.
fn is_too_large(snapshot: &Snapshot, template: &ClaimTemplate, claim: &Claim) -> Option<String> {
    let wanted = template.storage?;
    let mut live = snapshot.set.live.iter().filter(|live| live.name == template.name);
    let shrinks = live.any(|live| live.storage > Some(wanted));
    let recovers = snapshot.settings.shrink == Shrink::Recover && lowered(claim, wanted) == Some(wanted);
    let is_too_large = shrinks && claim.request > wanted && !recovers;
    is_too_large.then(|| format!("spec.resources.requests.storage {} instead of {wanted}", claim.request))
}

fn difference(change: &FrozenChange) -> String {
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), shown);
    format!(
        "{} {} instead of {}",
        change.field,
        value(&change.to),
        value(&change.from)
    )
}

impl Anew {
    /// The reason in the status.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Due(_) => "ReCreate",
            Self::Begun => "ReCreating",
            Self::Otherwise(_) => "CreatedOtherwise",
        }
    }

    /// The message in the status. `mounting` are the Pods that use the PVC.
    #[must_use]
    pub fn explain(&self, claim: &Claim, mounting: &[&PodView]) -> String {
        match self {
            Self::Due(differences) => {
                format!("is deleted with its data in its turn, and created anew: {differences}")
            }
            Self::Otherwise(differences) => format!(
                "was created with {differences} after the change was staged, and would be again: check that the policy \
                 is called for new PVCs, then delete the PVC and its Pod"
            ),
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
