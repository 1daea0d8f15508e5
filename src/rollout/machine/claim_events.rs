//! The last Event about each slow PVC, and which Events are to be read next.
//!
//! An error of a driver is in a condition of the PVC, which is watched. If the outcome of a call is unknown (the
//! driver is unavailable, the call timed out), the resizer only emits Events. Events are not watched; those of one
//! PVC are listed from time to time while it has been in motion for long.

use std::collections::BTreeMap;

use crate::api::Seconds;
use crate::rollout::{ClaimProgress, Progress};

/// The time in motion before the Events of a PVC are read.
pub const PATIENCE: Seconds = 30;

/// The time between two reads for one PVC.
const PAUSE: Seconds = 300;

/// The last Event about a PVC, and the time of the read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimEvent {
    /// The reason and the message of the Event; empty if there is none.
    pub message: String,
    /// When it was read.
    pub read_at: Seconds,
}

/// The last Events by uid of the PVC.
pub type ClaimEvents = BTreeMap<String, ClaimEvent>;

/// The PVCs whose Events may have to be read, with their uids.
fn moving(progress: &Progress) -> impl Iterator<Item = (&str, &ClaimProgress)> {
    let moving = progress.claims.iter().filter(|claim| claim.is_unexplained());
    moving.filter_map(|claim| Some((claim.uid.as_deref()?, claim)))
}

/// True iff Events may have to be read later although no object changes.
#[must_use]
pub fn is_needed(progress: &Progress) -> bool {
    moving(progress).next().is_some()
}

/// Forgets the Events of PVCs that are not in motion any more. Returns the uid of the PVC whose Events are to be read now.
/// `since` is the time since when the last report has had a PVC in its present state.
pub fn due(
    events: &mut ClaimEvents,
    progress: &Progress,
    since: impl Fn(&ClaimProgress) -> Option<Seconds>,
    now: Seconds,
) -> Option<String> {
    events.retain(|uid, _| moving(progress).any(|(known, _)| known == uid));
    let long =
        moving(progress).filter(|(_, claim)| since(claim).is_some_and(|since| since.saturating_add(PATIENCE) <= now));
    let is_unread = |uid: &str| {
        let event = events.get(uid);
        // The clock may have been set back.
        event.is_none_or(|event| !(event.read_at..event.read_at.saturating_add(PAUSE)).contains(&now))
    };
    let mut unread = long.filter(|(uid, _)| is_unread(uid));
    unread.next().map(|(uid, _)| uid.to_owned())
}

/// Stores the Event of a PVC that was read; without one, that of before stays. Returns whether it is new.
pub fn note(events: &mut ClaimEvents, uid: String, message: Option<String>, now: Seconds) -> bool {
    let before = events.remove(&uid).map(|event| event.message).unwrap_or_default();
    let message = message.unwrap_or_else(|| before.clone());
    let is_new = message != before;
    events.insert(uid, ClaimEvent { message, read_at: now });
    is_new
}

#[cfg(test)]
#[path = "claim_events_tests.rs"]
mod tests;
