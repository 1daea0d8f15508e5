//! Times: seconds since 1970, and the text format of Kubernetes.

/// Seconds since 1970-01-01T00:00:00Z.
pub type Seconds = u64;

/// The text of a time; `None` after the year 9999.
#[cfg(any(test, not(target_family = "wasm")))]
#[must_use]
pub fn write(time: Seconds) -> Option<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(time).ok()?).ok()?;
    Some(time.to_string())
}

/// Reads a time; `None` if the text is invalid or the time is before 1970.
#[cfg(any(test, not(target_family = "wasm")))]
#[must_use]
pub fn read(text: &str) -> Option<Seconds> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use crate::api::time::{read, write};

    #[test]
    fn time_written_reads_back() {
        for (time, text) in [(0, "1970-01-01T00:00:00Z"), (1_795_442_400, "2026-11-23T14:00:00Z")] {
            assert_eq!(write(time).as_deref(), Some(text));
            assert_eq!(read(text), Some(time));
        }
        assert_eq!(write(u64::MAX), None);
    }

    #[test]
    fn time_invalid_reads_none() {
        for text in ["", "2026-11-23", "2026-02-30T00:00:00Z", "1969-12-31T23:59:59Z"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
