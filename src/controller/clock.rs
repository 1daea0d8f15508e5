//! The time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

use crate::api::Seconds;

/// Returns the current time.
pub(super) type Clock = fn() -> Seconds;

/// The time in the format of the API; the Unix epoch if the format cannot express it.
pub(super) fn timestamp(seconds: Seconds) -> Timestamp {
    let seconds = i64::try_from(seconds).ok();
    seconds
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or_default()
}

/// Reads the clock. Everything else gets the time as an argument.
pub(super) fn clock() -> Seconds {
    clock_millis() / 1000
}

/// Reads the clock in milliseconds, for replacements.
#[allow(clippy::disallowed_methods, reason = "this is the outermost loop")]
pub(super) fn clock_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
