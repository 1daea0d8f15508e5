//! The times of a PVC, in seconds since 1970.

/// The seconds of a text in RFC 3339; 0 if no clock shows that time, or if it is before 1970.
#[cfg(not(target_family = "wasm"))]
pub(super) fn seconds(text: &str) -> u64 {
    let time = text.parse().ok().map(jiff::Timestamp::as_second);
    time.and_then(|time| u64::try_from(time).ok()).unwrap_or(0)
}

/// No decision of the policy depends on the time of a PVC.
#[cfg(target_family = "wasm")]
pub(super) const fn seconds(_: &str) -> u64 {
    0
}
