//! Caches the last Event about each slow PVC, and limits the rate of reads.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::locking::lock;
use crate::rollout::Seconds;

/// The minimum time between two reads.
const PACE: Seconds = 5;

/// The rate limit of reads, shared by all reconciles: the time of the last read.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Seconds>>);

impl Pace {
    /// True iff a read is allowed now; the caller then reads. A clock that was set back causes no wait.
    pub(super) fn admits(&self, now: Seconds) -> bool {
        let mut last = lock(&self.0);
        let waits = last.is_some_and(|last| (last..last.saturating_add(PACE)).contains(&now));
        if !waits {
            *last = Some(now);
        }
        !waits
    }
}

/// The last Event about a PVC, and the time of the read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaimEvent {
    pub(super) message: String,
    pub(super) read_at: Seconds,
}

/// The last Events by uid of the PVC.
pub(super) type ClaimEvents = BTreeMap<String, ClaimEvent>;
