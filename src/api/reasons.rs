//! Why a rollout is where it is: the reason of the condition `Ready` of a ClaimRollout. Metrics, alerts and documents name the
//! same ones.

/// What a reason says of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is where it was to come to.
    Settled,
    /// It goes on by itself.
    Moving,
    /// It goes on when its user says so, or when its time has come.
    Waiting,
    /// Somebody has to do something before it goes on.
    Stalled,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident: $kind:ident,)*) => {
        /// The reason of the condition `Ready`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ReadyReason {
            $($(#[doc = $doc])* $name,)*
        }

        impl ReadyReason {
            /// Every reason.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// The reason as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// What it says of a rollout.
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
    /// PVCs or Pods are on their way.
    RollingOut: Moving,
    /// Every PVC is updated and ready.
    Complete: Settled,
    /// The annotation `claim-rollout.io/paused`.
    Paused: Waiting,
    /// The other replicas are below the partition.
    Partitioned: Waiting,
    /// The update strategy is `OnDelete`: Pods are to be deleted by hand.
    OnDelete: Waiting,
    /// As many PVCs as the budget of their storage class allows were modified, or are in motion.
    WaitsForBudget: Waiting,
    /// Only PVCs created from now on get the desired templates.
    OnClaimDelete: Settled,
    /// The live templates are the desired ones.
    NothingStaged: Settled,
    /// What was staged was dropped.
    Withdrawn: Settled,
    /// The StatefulSet is being deleted.
    SetTerminating: Moving,
    /// The API server denies the patch of a PVC.
    ClaimRefused: Stalled,
    /// A ResourceQuota has no room for all PVCs that would grow, so none is written.
    WouldExceedQuota: Stalled,
    /// A PVC is not the StatefulSet's.
    ClaimForeign: Stalled,
    /// The driver cannot do what is asked for.
    ClaimInfeasible: Stalled,
    /// Nothing has moved for longer than the progress deadline.
    ProgressDeadlineExceeded: Stalled,
    /// Another controller owns the StatefulSet.
    SetOwned: Stalled,
    /// The setting `mode` is `ValidateOnly`.
    ValidateOnly: Stalled,
    /// `ReCreate` is not enabled.
    ReCreateNotEnabled: Stalled,
    /// More PVCs than any cluster has room for.
    TooManyClaims: Stalled,
    /// Neither the policy nor the guard is registered.
    PolicyMissing: Stalled,
    /// Somebody put back what the controller wrote.
    WriteUndone: Stalled,
    /// The API server denies what the controller writes to the StatefulSet.
    WriteRefused: Stalled,
    /// What is staged breaks a rule of the settings.
    StagedChangeNotAllowed: Stalled,
    /// What is staged cannot be read.
    StagedChangeUnreadable: Stalled,
}

impl ReadyReason {
    /// The reason that is written so; nothing where none is.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}
