//! Whether a PVC belongs to a StatefulSet: one check for the policy, the controller and the command line (S5).

use std::fmt;

use super::claim::Claim;
use super::owner::Owner;
use super::retention::PodUid;

/// The StatefulSet and the replica that a PVC should belong to.
#[derive(Clone, Copy, Debug)]
pub struct Belongs<'a> {
    /// The uid of the StatefulSet.
    pub set_uid: &'a str,
    /// The name of the Pod. KEP-1847 may make the Pod the controller of the PVC.
    pub pod: &'a str,
    /// The uid of that Pod, if it is known.
    pub pod_uid: PodUid<'a>,
    /// `selector.matchLabels` of the StatefulSet, as `(key, value)`.
    pub match_labels: &'a [(&'a str, &'a str)],
}

/// Why a PVC does not belong to the StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A PVC of another StatefulSet can have the same name.
    Ambiguous {
        /// The other StatefulSet.
        set: String,
    },
    /// A label of the selector has another value.
    Selector {
        /// The key of the label.
        label: String,
        /// The expected value.
        value: String,
    },
    /// Another controller owns the PVC.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// A Pod of another StatefulSet mounts the PVC.
    Mounted {
        /// The Pod.
        by: String,
    },
}

/// Why the PVC does not belong to the StatefulSet, or `None` if it does.
///
/// The PVC belongs to the StatefulSet if it has no controller other than the StatefulSet or the Pod of the replica
/// (KEP-1847 may make either one the controller), and no label of the selector with another value. A missing label is no
/// obstacle: PVCs that were made or restored by hand have none. Nor is another value if the Pod of the replica exists:
/// Kubernetes binds it to the PVC by name, as for a PVC that is older than the selector.
///
/// The check reads only the PVC: no names of other StatefulSets, and no Pods of others that mount it.
#[must_use]
pub fn foreign(claim: &Claim, belongs: &Belongs<'_>) -> Option<Foreign> {
    let is_pod = |owner: &Owner| match belongs.pod_uid {
        PodUid::Is(uid) => owner.uid == uid,
        PodUid::NoPod => false,
        PodUid::NotAsked => owner.kind == "Pod" && owner.name == belongs.pod,
    };
    let is_other = |owner: &&Owner| owner.uid != belongs.set_uid && !is_pod(owner);
    if let Some(owner) = claim.controller().filter(is_other) {
        return Some(Foreign::Owned { by: owner.clone() });
    }
    if matches!(belongs.pod_uid, PodUid::Is(_)) {
        return None;
    }
    let mut labels = belongs.match_labels.iter();
    let is_another = |(key, value): &&(&str, &str)| claim.labels.get(key).is_some_and(|found| found != value);
    let (label, value) = labels.find(is_another)?;
    let [label, value] = [label, value].map(|text| (*text).to_owned());
    Some(Foreign::Selector { label, value })
}

/// The same of a Pod that exists, without the reason: [`foreign`] takes much of the policy's module.
#[must_use]
pub fn belongs(claim: &Claim, set_uid: &str, pod: &str) -> bool {
    let is_owner = |owner: &Owner| owner.uid == set_uid || owner.kind == "Pod" && owner.name == pod;
    claim.controller().is_none_or(is_owner)
}

impl Foreign {
    /// The reason, in one word.
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
            Self::Selector { label, value } => {
                write!(
                    f,
                    "label {label} is not {value}, as in the selector; set it with kubectl label pvc"
                )
            }
            Self::Owned { by } => write!(f, "owned by {} {}", by.kind, by.name),
            Self::Mounted { by } => write!(f, "mounted by Pod {by} of another StatefulSet"),
        }
    }
}
