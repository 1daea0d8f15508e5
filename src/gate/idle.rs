//! Why nothing is rolled out.

use std::fmt;

use crate::api::reasons::Kind;
use crate::api::{ReadyReason, Seconds};
use crate::claims::Owner;
use crate::templates::StagedError;

/// Seconds until the controller checks again whether the policy is registered.
pub const POLICY_RECHECK: Seconds = 15;

/// Seconds until the controller checks again whether another StatefulSet has the same name.
pub const NAMESAKE_RECHECK: Seconds = 300;

/// Seconds until the controller checks again whether lists that fail have succeeded.
pub const LIST_RECHECK: Seconds = 30;

/// The most claims of one set that are read. Each takes time and memory that other sets need, too. Kubernetes supports
/// 150,000 Pods in a cluster (its documentation, "Considerations for large clusters").
pub const MOST_CLAIMS: u64 = 150_000;

/// Why nothing is rolled out. The claims and Pods of such a set need not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// There is no valid staged change: the live templates are the desired ones, and claims were created from them.
    NothingStaged,
    /// The same, but there was a staged change before.
    Withdrawn,
    /// The set is being deleted.
    Terminating,
    /// The settings forbid staging: `mode: ValidateOnly`.
    ValidateOnly,
    /// The set is one of OpenKruise, and has a field with which its claims are not rolled out.
    NotSupported {
        /// The field, and what to do.
        why: &'static str,
    },
    /// The set is one of OpenKruise, and one of Kubernetes has its name. The policy does not ask for it.
    #[cfg(any(test, not(target_family = "wasm")))]
    Namesake,
    /// Another controller owns the set, and would undo the staged change.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// Only new claims get the new templates.
    OnClaimDelete,
    /// Claims would have to be re-created, and a setting or the flag of the controller forbids it.
    ReCreate,
    /// The set has more than [`MOST_CLAIMS`] claims.
    TooManyClaims {
        /// The number of claims.
        claims: u64,
    },
    /// Neither the policy nor the guard is registered for this namespace, so nobody checks who stages a change.
    PolicyMissing {
        /// Why the registrations cannot be read, if that is the reason.
        unread: Option<String>,
    },
    /// The staged change is older than the policy and the guard of its namespace: somebody forgot it, or could write it
    /// without the right to.
    StagedBeforePolicy,
    /// Lists that the rollout needs fail, or one of their objects cannot be read. The policy has none.
    #[cfg(any(test, not(target_family = "wasm")))]
    Unlisted {
        /// What cannot be read.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// The policy undid a write of the controller, so the rollout would never end.
    WriteUndone {
        /// What the controller wrote.
        what: String,
        /// When to retry the write.
        retry_at: Seconds,
    },
    /// The staged change cannot be read: it is damaged, or a newer version wrote it.
    Unreadable {
        /// The error.
        why: StagedError,
    },
    /// The staged change breaks a rule that the policy checks, so the policy did not write it.
    Unsound {
        /// The first rule that is broken.
        why: String,
    },
}

impl Idle {
    /// The reason of the condition `Ready`.
    #[must_use]
    pub const fn reason(&self) -> ReadyReason {
        match self {
            Self::NothingStaged => ReadyReason::NothingStaged,
            Self::Withdrawn => ReadyReason::Withdrawn,
            Self::Terminating => ReadyReason::SetTerminating,
            Self::ValidateOnly => ReadyReason::ValidateOnly,
            Self::NotSupported { .. } => ReadyReason::NotSupported,
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Namesake => ReadyReason::NotSupported,
            Self::Owned { .. } => ReadyReason::SetOwned,
            Self::OnClaimDelete => ReadyReason::OnClaimDelete,
            Self::ReCreate => ReadyReason::ReCreateNotEnabled,
            Self::TooManyClaims { .. } => ReadyReason::TooManyClaims,
            Self::PolicyMissing { .. } => ReadyReason::PolicyMissing,
            Self::StagedBeforePolicy => ReadyReason::StagedBeforePolicy,
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Unlisted { .. } => ReadyReason::ListFails,
            Self::WriteUndone { .. } => ReadyReason::WriteUndone,
            Self::Unreadable { .. } => ReadyReason::StagedChangeUnreadable,
            Self::Unsound { .. } => ReadyReason::StagedChangeNotAllowed,
        }
    }

    /// The text of the reason.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.reason().as_str()
    }

    /// True iff somebody must act before the rollout can continue.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.reason().kind() == Kind::Stalled
    }

    /// Seconds until the next reconcile, even if the StatefulSet does not change.
    #[must_use]
    pub fn requeue_after(&self, now: Seconds) -> Option<Seconds> {
        match self {
            Self::PolicyMissing { .. } => Some(POLICY_RECHECK),
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Namesake => Some(NAMESAKE_RECHECK),
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Unlisted { .. } => Some(LIST_RECHECK),
            Self::WriteUndone { retry_at, .. } => Some(retry_at.saturating_sub(now).max(1)),
            _ => None,
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingStaged => f.write_str("No change is staged"),
            Self::Withdrawn => f.write_str("Staged change withdrawn; existing PVCs keep their current size"),
            Self::Terminating => f.write_str("The StatefulSet is being deleted"),
            Self::ValidateOnly => f.write_str("The setting mode is ValidateOnly, so nothing is rolled out"),
            Self::NotSupported { why } => f.write_str(why),
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Namesake => f.write_str(
                "A StatefulSet of apps/v1 has the same name, so their PVCs have the same names, too: delete one of them, or \
                 remove the annotation claim-rollout.io/update-policy",
            ),
            Self::Owned { by } => write!(f, "The StatefulSet is owned by {} {}", by.kind, by.name),
            Self::OnClaimDelete => f.write_str("Only PVCs created from now on get the new templates"),
            Self::ReCreate => f.write_str(
                "The update policy is ReCreate, which is off: it needs the setting allowReCreate: true, and the controller \
                 needs --recreate and the rights in deploy/recreate.yaml (chart: features.reCreate)",
            ),
            Self::TooManyClaims { claims } => write!(
                f,
                "The StatefulSet has {claims} PVCs, more than the limit of {MOST_CLAIMS}"
            ),
            Self::PolicyMissing { unread: None } => f.write_str(
                "Neither the policy nor the guard is registered for this namespace, so anybody could have staged this: \
                 register one of them, or start the controller with --allow-without-policy",
            ),
            Self::PolicyMissing { unread: Some(why) } => write!(
                f,
                "Failed to check whether the policy or the guard is registered for this namespace: {why}"
            ),
            Self::StagedBeforePolicy => f.write_str(
                "The change was staged before the policy and the guard were registered for this namespace: apply it again \
                 to roll it out, or withdraw it",
            ),
            #[cfg(any(test, not(target_family = "wasm")))]
            Self::Unlisted { what, why } => write!(f, "Failed to read {what}: {why}"),
            Self::WriteUndone { what, .. } => write!(
                f,
                "The policy undid a write of this controller ({what}): add its account to the setting \
                 controllerAccounts"
            ),
            Self::Unreadable { why } => write!(f, "Failed to read the staged change: {why}"),
            Self::Unsound { why } => write!(f, "The staged change breaks a rule: {why}"),
        }
    }
}
