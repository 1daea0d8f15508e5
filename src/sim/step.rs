//! The steps of a schedule.

use super::actors::action::UserAction;
use super::actors::storage::Resizing;
use super::objects::Age;
use super::watch::WatchKind;

/// The most controllers at once.
pub(crate) const INSTANCES: usize = 2;

/// A step. It has no effect where it is impossible, so any part of a schedule can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SimStep {
    /// A watch delivers the stored objects to a controller.
    Deliver(u8, WatchKind),
    /// A controller starts a reconcile.
    Reconcile(u8),
    /// A controller sends its next request.
    Send(u8, RequestFate),
    /// A controller restarts: it remembers nothing, and lists everything.
    Crash(u8),
    /// A second controller starts.
    Start,
    /// One of the API servers falls behind.
    Freeze,
    /// A controller reads from the API server that is behind.
    TimeTravel(u8),
    /// The StatefulSet controller makes one write to Pods or claims.
    Sync,
    /// The StatefulSet controller writes the status.
    Observe,
    /// A backoff of the StatefulSet controller ends.
    Retry,
    /// The kubelet makes a write for the Pod of an ordinal.
    Kubelet(u8),
    /// A volume is provisioned for the claim in a slot.
    Provision(u8),
    /// The resizer makes a write to the claim in a slot.
    Resize(u8, Resizing),
    /// The garbage collector deletes a dependent whose owner does not exist.
    Collect,
    /// Time passes.
    Tick(Age),
    /// The clock of a controller jumps.
    Clock(u8, Age),
    /// A user acts.
    User(UserAction),
}

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestFate {
    /// It is answered.
    Answered,
    /// It is executed, and the answer is lost.
    ReplyLost,
    /// It is not executed, and has no answer: timeout, 429, 5xx, a reset.
    NeverSent,
    /// 409, for another reason than the object.
    Conflict,
    /// 403 or 422: a webhook, or missing rights of the controller.
    Refused,
    /// 404
    NotFound,
    /// The controller crashes before the request.
    CrashBefore,
    /// The controller crashes after the request.
    CrashAfter,
}

impl RequestFate {
    /// All fates except `Answered`.
    pub(crate) const FAULTS: [Self; 7] = [
        Self::ReplyLost,
        Self::NeverSent,
        Self::Conflict,
        Self::Refused,
        Self::NotFound,
        Self::CrashBefore,
        Self::CrashAfter,
    ];
}
