//! Whose a claim is: one answer for the policy, the controller and the command line (S5).

use std::fmt;

use super::claim::{Claim, Owner};
use super::retention::PodUid;

/// Whose a claim has to be.
#[derive(Clone, Copy, Debug)]
pub struct Belongs<'a> {
    /// The uid of the set.
    pub set_uid: &'a str,
    /// The name of the replica's Pod, which KEP-1847 makes the controller, too.
    pub pod: &'a str,
    /// The uid of that Pod, as far as it is known.
    pub pod_uid: PodUid<'a>,
    /// `selector.matchLabels` of the set, as `(key, value)`.
    pub match_labels: &'a [(&'a str, &'a str)],
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
        /// The value that it should have.
        value: String,
    },
    /// Another controller owns it.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// A Pod of another StatefulSet mounts it.
    Mounted {
        /// The Pod.
        by: String,
    },
}

/// Why the claim is not the set's, by what is in the claim itself; nothing if it is.
///
/// It is the set's if its labels hold the selector's `matchLabels`, and no controller but the set or the replica's Pod owns it
/// (KEP-1847 makes either one the controller).
///
/// What it does not do: look at the name, at other sets, and at who mounts it.
#[must_use]
pub fn foreign(claim: &Claim, belongs: &Belongs<'_>) -> Option<Foreign> {
    let mut labels = belongs.match_labels.iter();
    let missing = labels.find(|(key, value)| claim.labels.get(key).is_none_or(|found| found != value));
    if let Some((label, value)) = missing {
        let [label, value] = [label, value].map(|text| (*text).to_owned());
        return Some(Foreign::Selector { label, value });
    }
    let owner = claim.controller()?;
    let is_pod = match belongs.pod_uid {
        PodUid::Is(uid) => owner.uid == uid,
        PodUid::NoPod => false,
        PodUid::NotAsked => owner.kind == "Pod" && owner.name == belongs.pod,
    };
    (owner.uid != belongs.set_uid && !is_pod).then(|| Foreign::Owned { by: owner.clone() })
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
            Self::Selector { label, .. } => write!(f, "label {label} is not the selector's"),
            Self::Owned { by } => write!(f, "owned by {} {}", by.kind, by.name),
            Self::Mounted { by } => write!(f, "mounted by Pod {by} of another StatefulSet"),
        }
    }
}
