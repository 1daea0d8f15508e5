//! What can happen in the model.

use super::objects::AnewAction;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnewEvent {
    /// A controller decides, sends its write, or crashes before it does.
    Decide(usize),
    Send(usize),
    Crash(usize),
    /// The write is done, but not answered.
    SendUnanswered(usize),
    /// It is not done: 400, 401, 403, 422, 429, 500, 503, no answer, or 404 or 409 for half a minute.
    Deny(usize),
    /// The pause after a failure ends.
    Retry(usize),
    /// Its watches show the PVCs or the Pods.
    ShowClaims(usize),
    ShowPods(usize),
    /// The StatefulSet controller creates PVC and Pod.
    CreateClaim(usize),
    CreatePod(usize),
    /// Other controllers and the kubelet.
    Bind(usize),
    BecomeReady(usize),
    EndPod(usize),
    EndClaim(usize),
    FinishSnapshot(usize),
    /// Users.
    User(AnewAction),
}
