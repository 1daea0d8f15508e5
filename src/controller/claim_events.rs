//! What was said of claims that take long, and how often anybody may ask.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::watch::lock;
use crate::rollout::Seconds;

/// Time between two questions about whichever claims.
const PACE: Seconds = 5;
/// When anything was asked last, by all looks together.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Seconds>>);

impl Pace {
    /// True iff something may be asked now; then it is. A clock that was set back keeps nobody waiting.
    pub(super) fn admits(&self, now: Seconds) -> bool {
        let mut last = lock(&self.0);
        let waits = last.is_some_and(|last| (last..last.saturating_add(PACE)).contains(&now));
        if !waits {
            *last = Some(now);
        }
        !waits
    }
}

/// What was last said of a claim, and when that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimEvent {
    pub(super) message: String,
    pub(super) asked: Seconds,
}

/// What was said of claims, by uid.
pub(super) type ClaimEvents = BTreeMap<String, ClaimEvent>;
