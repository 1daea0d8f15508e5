//! Whose claim is it (S5).

use std::fmt;

use super::snapshot::{PodView, SetView, Snapshot};
use crate::claims::{Claim, Owner};
use crate::templates::ClaimName;

/// The answer. The name and the range of the ordinal are given: a claim is only looked up by the names of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The set's: it may be written.
    Ours,
    /// Somebody else's, or nobody can tell: it is reported and never written.
    Foreign(Foreign),
}

/// Why a claim is not the set's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// The name is also a name of another set's claims.
    Ambiguous {
        /// The other set.
        set: String,
    },
    /// A label of the set's selector is missing or has another value.
    Selector {
        /// Its key.
        label: String,
    },
    /// Another controller owns it.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// A Pod that is not the set's mounts it.
    Mounted {
        /// The Pod.
        by: String,
    },
}

/// Whose the claim of this name is.
///
/// It is the set's iff no other set gives the name to a claim, its labels hold the selector's `matchLabels`, no controller
/// but the set or the replica's present Pod owns it (KEP-1847 makes either one the controller), and every Pod that mounts
/// it is controlled by the set's uid.
#[must_use]
pub fn whose(
    snapshot: &Snapshot,
    name: &ClaimName,
    claim: &Claim,
    pod: Option<&PodView>,
    mounting: &[&PodView],
) -> Whose {
    let set = &snapshot.set;
    let ambiguous = snapshot.neighbours.iter().find(|neighbour| {
        neighbour.set != set.name
            && neighbour
                .templates
                .iter()
                .any(|template| name.is_also_of(template, &neighbour.set))
    });
    if let Some(neighbour) = ambiguous {
        return Whose::Foreign(Foreign::Ambiguous {
            set: neighbour.set.clone(),
        });
    }
    if let Some((label, _)) = unselected(set, claim) {
        return Whose::Foreign(Foreign::Selector { label: label.clone() });
    }
    if let Some(owner) = claim.controller() {
        let ours = owner.uid == set.uid || pod.is_some_and(|pod| pod.uid == owner.uid);
        if !ours {
            return Whose::Foreign(Foreign::Owned { by: owner.clone() });
        }
    }
    match mounting.iter().find(|pod| !set.controls(pod.controller.as_ref())) {
        Some(pod) => Whose::Foreign(Foreign::Mounted { by: pod.name.clone() }),
        None => Whose::Ours,
    }
}

/// The first label of the set's selector that the claim does not have, and the value that it should have.
#[must_use]
pub fn unselected<'a>(set: &'a SetView, claim: &Claim) -> Option<(&'a String, &'a String)> {
    let mut labels = set.match_labels.iter();
    labels.find(|(key, value)| claim.labels.get(key) != Some(*value))
}

impl Foreign {
    /// The reason as one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Ambiguous { .. } => "AmbiguousName",
            Self::Selector { .. } => "SelectorMismatch",
            Self::Owned { .. } => "OwnedByAnother",
            Self::Mounted { .. } => "MountedByAnother",
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { set } => write!(f, "the name is also a name of the claims of StatefulSet {set}"),
            Self::Selector { label } => write!(
                f,
                "expected the value of the set's selector in label {label}, but found another or none"
            ),
            Self::Owned { by } => write!(
                f,
                "expected no controller but the set, but found {} {}",
                by.kind, by.name
            ),
            Self::Mounted { by } => write!(f, "expected only Pods of the set to mount it, but found Pod {by}"),
        }
    }
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
