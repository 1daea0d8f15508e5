//! The Pods, each in a byte.

/// The number of replicas.
pub(super) const PODS: usize = 3;

/// The StatefulSet, as the API server stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LiveTemplates {
    /// Those of before.
    Old,
    /// Those of before; the StatefulSet is being deleted, and the garbage collector takes the owner from its Pods.
    Leaving,
    /// Those that were staged.
    New,
}

/// A Pod. It is new if it was created after the template was live: then it has the volume and the update revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SmallPod {
    Absent,
    Ready { new: bool },
    Unready { new: bool },
    Going { new: bool },
}

impl SmallPod {
    /// True iff it lacks the volume, once the template is live.
    pub(super) const fn is_old(self) -> bool {
        matches!(
            self,
            Self::Ready { new: false } | Self::Unready { new: false } | Self::Going { new: false }
        )
    }
}
