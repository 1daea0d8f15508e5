//! Limits that are checked before anything is decoded.

use crate::admission::Denial;

/// The longest payload: two objects of 3 MiB and the rest of the request.
const MAX_PAYLOAD: usize = 6 * 1024 * 1024 + 64 * 1024;

/// The payload as text, if it is UTF-8 and not too long.
pub(super) fn check(payload: &[u8]) -> Result<&str, Denial> {
    let fault = |what: &str| Err(Denial::malformed(format!("claim-rollout: request: expected {what}")));
    if payload.len() > MAX_PAYLOAD {
        return fault("at most 3 MiB for each object; it is larger");
    }
    let Ok(text) = std::str::from_utf8(payload) else {
        return fault("UTF-8");
    };
    Ok(text)
}
