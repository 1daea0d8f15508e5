//! The kinds of requests of a controller that a test can disturb.

use axum::body::Bytes;
use axum::http::Method;
use axum::http::request::Parts;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// An apply of a PVC.
    Claim,
    /// A write of the annotation `ready`.
    Ready,
    /// A write of the staged change of a StatefulSet.
    StagedChange,
    /// The creation of the ClaimRollout, or a write of its `spec`.
    Target,
    /// A write of the status of the ClaimRollout.
    Status,
    /// The creation or renewal of the Lease.
    Lease,
    /// Any other write: Events and history.
    Aside,
    /// A single read.
    Read,
    /// The start of a watch.
    Watch,
}

impl Asked {
    /// The kind of this request.
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
        let contains = |word: &str| body.windows(word.len()).any(|part| part == word.as_bytes());
        if path.contains("/persistentvolumeclaims/") {
            Self::Claim
        } else if path.contains("/statefulsets/") && contains("claim-rollout.io/staged") {
            Self::StagedChange
        } else if path.contains("/statefulsets/") {
            Self::Ready
        } else if path.contains("/claimrollouts/") && path.ends_with("/status") {
            Self::Status
        } else if path.contains("/claimrollouts") {
            Self::Target
        } else if path.contains("/leases") {
            Self::Lease
        } else {
            Self::Aside
        }
    }

    /// Whether the request writes something other than the Lease.
    pub(super) fn is_write(self) -> bool {
        !matches!(self, Self::Read | Self::Watch | Self::Lease)
    }
}
