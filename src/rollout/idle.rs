//! Why nothing is rolled out.

use std::fmt;

use super::time::Seconds;
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::claims::Owner;
use crate::templates::StagedError;

/// For how many seconds it is believed that the policy is registered, or is not.
pub const POLICY_RECHECK: Seconds = 15;

/// More claims than this of one set are not looked at, for each takes time and memory that other sets need, too: a
/// cluster of Kubernetes is made for 150,000 Pods (its documentation, "Considerations for large clusters").
pub const MOST_CLAIMS: u64 = 150_000;

/// Why nothing is to be rolled out. Claims and Pods of such a set need not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// There is no valid record: the live templates are the wish, and claims were born from them.
    NothingStaged,
    /// The same, but there was a record: its wish was dropped.
    Withdrawn,
    /// The set is being deleted.
    Terminating,
    /// The settings say that nothing is staged: `mode: ValidateOnly`.
    ValidateOnly,
    /// Another controller owns the set, and would undo what is staged.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// Only claims created from now on get the new templates.
    OnClaimDelete,
    /// Claims would have to be deleted, which is not enabled.
    ReCreate,
    /// The set has more replicas than any cluster has room for.
    TooManyClaims {
        /// How many claims they have.
        claims: u64,
    },
    /// Nobody judges who stages a change in this namespace: neither the policy nor the guard is registered there.
    PolicyMissing {
        /// What may not be read, if that is why nothing is known of them.
        unread: Option<String>,
    },
    /// What the controller wrote was put back, so that it would never come to an end.
    WriteUndone {
        /// What it wrote.
        what: String,
        /// When it is tried again.
        retry_at: Seconds,
    },
    /// What is staged cannot be read: it is damaged, or a newer version wrote it. Nothing is known of it, so nothing is
    /// done.
    Unreadable {
        /// Why.
        why: StagedError,
    },
    /// The record asks for what the policy would have refused: somebody else wrote it.
    Unsound {
        /// The first rule that is broken.
        why: String,
    },
}

impl Idle {
    /// What is reported.
    #[must_use]
    pub const fn reason(&self) -> ReadyReason {
        match self {
            Self::NothingStaged => ReadyReason::NothingStaged,
            Self::Withdrawn => ReadyReason::Withdrawn,
            Self::Terminating => ReadyReason::SetTerminating,
            Self::ValidateOnly => ReadyReason::ValidateOnly,
            Self::Owned { .. } => ReadyReason::SetOwned,
            Self::OnClaimDelete => ReadyReason::OnClaimDelete,
            Self::ReCreate => ReadyReason::ReCreateNotEnabled,
            Self::TooManyClaims { .. } => ReadyReason::TooManyClaims,
            Self::PolicyMissing { .. } => ReadyReason::PolicyMissing,
            Self::WriteUndone { .. } => ReadyReason::WriteUndone,
            Self::Unreadable { .. } => ReadyReason::StagedChangeUnreadable,
            Self::Unsound { .. } => ReadyReason::StagedChangeNotAllowed,
        }
    }

    /// The same as one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.reason().as_str()
    }

    /// True iff somebody has to do something before the wish can be reached.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.reason().kind() == Kind::Stalled
    }

    /// After how many seconds it is looked at again, although nothing of the StatefulSet changes.
    #[must_use]
    pub fn requeue_after(&self, now: Seconds) -> Option<Seconds> {
        match self {
            Self::PolicyMissing { .. } => Some(POLICY_RECHECK),
            Self::WriteUndone { retry_at, .. } => Some(retry_at.saturating_sub(now).max(1)),
            _ => None,
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingStaged => f.write_str("nothing is staged: the templates of the set are the wish"),
            Self::Withdrawn => f.write_str(
                "what was staged is withdrawn: the templates of the set are the wish again, and claims stay as they are",
            ),
            Self::Terminating => f.write_str("the set is being deleted"),
            Self::ValidateOnly => f.write_str("the setting mode is ValidateOnly: nothing is rolled out"),
            Self::Owned { by } => write!(f, "the set is owned by {} {}", by.kind, by.name),
            Self::OnClaimDelete => f.write_str("only claims created from now on get the new templates"),
            Self::ReCreate => f.write_str("the update policy is ReCreate, which is not enabled"),
            Self::TooManyClaims { claims } => write!(
                f,
                "the replicas have {claims} claims, and of one set no more than {} are looked at",
                MOST_CLAIMS
            ),
            Self::PolicyMissing { unread: None } => f.write_str(
                "neither the policy nor the guard is registered for this namespace, so anybody could have staged this: \
                 register one of them, or start the controller with --allow-without-policy",
            ),
            Self::PolicyMissing { unread: Some(why) } => write!(
                f,
                "the controller cannot see whether the policy or the guard is registered for this namespace: {why}"
            ),
            Self::WriteUndone { what, .. } => write!(
                f,
                "the policy put back what this controller wrote ({what}): name its account in the setting controllerAccounts"
            ),
            Self::Unreadable { why } => write!(f, "what is staged cannot be read, so nothing is done: {why}"),
            Self::Unsound { why } => write!(f, "the record is not honoured: {why}"),
        }
    }
}
