//! What a controller asks of the API server, as far as a network that misbehaves on purpose tells it apart.

use axum::body::Bytes;
use axum::http::Method;
use axum::http::request::Parts;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The apply of a claim.
    Claim,
    /// Whose claims became ready is written.
    Ready,
    /// The record of a set is written.
    StagedChange,
    /// The ClaimRollout is made, or its `spec` written.
    Target,
    /// The status of the ClaimRollout is written.
    Status,
    /// The Lease is made or renewed.
    Lease,
    /// Anything else is written: Events and history.
    Aside,
    /// Something is read once.
    Read,
    /// A watch begins.
    Watch,
}

impl Asked {
    /// What this request asks.
    pub(super) fn of(head: &Parts, body: &Bytes) -> Self {
        let path = head.uri.path();
        let query = head.uri.query().unwrap_or_default();
        if head.method == Method::GET {
            return if query.contains("watch=true") {
                Self::Watch
            } else {
                Self::Read
            };
        }
        let says = |word: &str| body.windows(word.len()).any(|part| part == word.as_bytes());
        if path.contains("/persistentvolumeclaims/") {
            Self::Claim
        } else if path.contains("/statefulsets/") && says("claim-rollout.io/staged") {
            Self::StagedChange
        } else if path.contains("/statefulsets/") {
            Self::Ready
        } else if path.contains("/claimrollouts/") && path.ends_with("/status") {
            Self::Status
        } else if path.contains("/claimrollouts/") {
            Self::Target
        } else if path.contains("/leases") {
            Self::Lease
        } else {
            Self::Aside
        }
    }

    /// Whether something is to be stored, but for the Lease.
    pub(super) fn is_write(self) -> bool {
        !matches!(self, Self::Read | Self::Watch | Self::Lease)
    }
}
