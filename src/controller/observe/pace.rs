//! Limits the rate of reads of Events.

use std::sync::Mutex;

use crate::api::Seconds;
use crate::controller::locking::lock;

/// The minimum time between two reads.
const PACE: Seconds = 5;

/// The rate limit of reads, shared by all reconciles: the time of the last read.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Option<Seconds>>);

impl Pace {
    /// True iff a read is allowed now; the caller then reads. A clock that was set back causes no wait.
    pub(crate) fn admits(&self, now: Seconds) -> bool {
        let mut last = lock(&self.0);
        let waits = last.is_some_and(|last| (last..last.saturating_add(PACE)).contains(&now));
        if !waits {
            *last = Some(now);
        }
        !waits
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn reads_of_all_reconciles_share_a_rate_limit() {
        let pace = Pace::default();
        for (why, now, expected) in [
            ("the first", 1000, true),
            ("another one at once", 1000, false),
            ("too early", 1004, false),
            ("in time", 1005, true),
            ("too early again", 1009, false),
            ("the clock was set back", 500, true),
            ("and goes on", 505, true),
        ] {
            assert_eq!(pace.admits(now), expected, "{why}");
        }
    }
}
