//! The reasons of the condition `Ready` of a ClaimRollout. Metrics, alerts and documents use the same names.

use crate::templates::words::words;

/// What a reason implies for a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The rollout has reached its target.
    Settled,
    /// The rollout continues on its own.
    Moving,
    /// The rollout waits for its user, or for a point in time.
    Waiting,
    /// The rollout needs help.
    Stalled,
}

/// The reasons, each with its kind.
macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:ident,)*) => {
        words! {
            /// The reason of the condition `Ready`.
            pub enum ReadyReason {
                $($(#[doc = $doc])* $name,)*
            }
        }

        impl ReadyReason {
            /// What the reason implies for a rollout.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)*
                }
            }
        }
    };
}

reasons! {
    /// The controller changes PVCs, or Pods restart.
    RollingOut: Moving,
    /// Every PVC is updated and ready.
    Complete: Settled,
    /// The annotation `claim-rollout.io/paused` is `"true"`.
    Paused: Waiting,
    /// The other replicas are below the partition.
    Partitioned: Waiting,
    /// The update strategy is `OnDelete`: users delete Pods themselves.
    OnDelete: Waiting,
    /// The volumes of replicas that were scaled away have grown. Their file systems grow when their Pods are back.
    ScaledDown: Waiting,
    /// The budget of a storage class is used up: as many PVCs as it allows were modified or are in motion.
    WaitsForBudget: Waiting,
    /// Only PVCs created from now on get the desired templates.
    OnClaimDelete: Settled,
    /// The live templates are the desired ones.
    NothingStaged: Settled,
    /// The user withdrew the staged change.
    Withdrawn: Settled,
    /// Pods lack a volume of an added template. They are evicted one at a time.
    PodLacksVolume: Moving,
    /// The StatefulSet is being deleted.
    SetTerminating: Moving,
    /// The API server denies the patch of a PVC.
    ClaimRefused: Stalled,
    /// A ResourceQuota has no room for all PVCs that would grow. None of them is patched.
    WouldExceedQuota: Stalled,
    /// A PVC does not belong to the StatefulSet.
    ClaimForeign: Stalled,
    /// The CSI driver cannot make the change.
    ClaimInfeasible: Stalled,
    /// There is no progress for longer than the progress deadline.
    ProgressDeadlineExceeded: Stalled,
    /// Another controller owns the StatefulSet.
    SetOwned: Stalled,
    /// A field of OpenKruise's StatefulSet, or a StatefulSet of Kubernetes with its name, excludes `update-policy: InPlace`.
    NotSupported: Stalled,
    /// The setting `mode` is `ValidateOnly`.
    ValidateOnly: Stalled,
    /// The update policy is `ReCreate`, and the setting `allowReCreate` or the flag `--recreate` is missing.
    ReCreateNotEnabled: Stalled,
    /// The update policy is `ReCreate`, and the next PVC may not be deleted until somebody acts.
    ReCreateStopped: Stalled,
    /// The StatefulSet has more PVCs than claim-rollout manages.
    TooManyClaims: Stalled,
    /// Neither the policy nor the guard is registered.
    PolicyMissing: Stalled,
    /// The change was staged before the policy and the guard were registered for the namespace.
    StagedBeforePolicy: Stalled,
    /// A PVC or Pod cannot be read, or these or the registered webhooks and policies cannot be listed for a minute or longer.
    ListFails: Stalled,
    /// Somebody reverted what the controller wrote.
    WriteUndone: Stalled,
    /// The API server denies a write to the StatefulSet.
    WriteRefused: Stalled,
    /// The staged change breaks a rule of the settings.
    StagedChangeNotAllowed: Stalled,
    /// The staged change cannot be read.
    StagedChangeUnreadable: Stalled,
}
