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
    /// It is not done: 400, 401, 403, 422, 429, 500, 503.
    Deny(usize),
    /// It is not done: 404 or 409.
    Overtake(usize),
    /// The pauses after failures end.
    Retry(usize),
    /// More time passes than a watch may be late.
    WaitForWatch(usize),
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

impl AnewEvent {
    /// The controller that acts, or learns something.
    pub(super) const fn process(self) -> Option<usize> {
        match self {
            Self::Decide(place)
            | Self::Send(place)
            | Self::Crash(place)
            | Self::SendUnanswered(place)
            | Self::Deny(place)
            | Self::Overtake(place)
            | Self::Retry(place)
            | Self::WaitForWatch(place)
            | Self::ShowClaims(place)
            | Self::ShowPods(place) => Some(place),
            _ => None,
        }
    }
}
