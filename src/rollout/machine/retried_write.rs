//! Writes that failed, and when they are retried.

use crate::api::Seconds;
use crate::rollout::snapshot::retry_at;

/// A write that somebody undid, or that was denied.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RetriedWrite {
    /// The part that was undone, or the message of the denial.
    pub what: String,
    /// How often in a row it failed.
    pub attempts: u32,
    /// When it failed last.
    pub last: Seconds,
}

impl RetriedWrite {
    /// Counts one more attempt.
    #[must_use]
    pub fn again(before: Option<&Self>, what: String, now: Seconds) -> Self {
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        Self {
            what,
            attempts,
            last: now,
        }
    }

    /// Ends the pause. It continues to double if the write fails again.
    pub const fn retry_now(&mut self) {
        self.last = 0;
    }

    /// When the write is retried.
    #[must_use]
    pub fn retry_at(&self, now: Seconds) -> Seconds {
        retry_at(self.attempts, self.last, now)
    }

    /// The message, and when the write is retried.
    #[must_use]
    pub fn fault(&self, now: Seconds) -> (String, Seconds) {
        (self.what.clone(), self.retry_at(now))
    }
}

#[cfg(test)]
mod tests {
    use super::RetriedWrite;

    #[test]
    fn undone_write_is_retried_with_backoff() {
        let mut last = None;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let again = RetriedWrite::again(last.as_ref(), "it".to_owned(), 1000);
            pauses.push(again.retry_at(1000) - 1000);
            last = Some(again);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
    }
}
