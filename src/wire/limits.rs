//! What is refused before anything is decoded.

use crate::admission::Refusal;

/// The longest payload: two objects of 3 MiB and what surrounds them.
const MAX_PAYLOAD: usize = 6 * 1024 * 1024 + 64 * 1024;

/// The deepest nesting, that of serde_json and so of policy-server.
const MAX_DEPTH: u32 = 128;

/// The payload as text, if it is UTF-8, not too long and not nested too deep.
pub(super) fn check(payload: &[u8]) -> Result<&str, Refusal> {
    let fault = |what: &str| Err(Refusal::malformed(format!("claim-rollout: request: expected {what}")));
    if payload.len() > MAX_PAYLOAD {
        return fault("at most 3 MiB for each object; it is larger");
    }
    let Ok(text) = std::str::from_utf8(payload) else {
        return fault("UTF-8");
    };
    if depth_exceeds(payload, MAX_DEPTH) {
        return fault("JSON nested at most 128 deep; it is deeper");
    }
    Ok(text)
}

/// True iff brackets outside of strings nest deeper than this. What is skipped while decoding is skipped without
/// recursion, so this is the only place that sees all of it.
fn depth_exceeds(payload: &[u8], most: u32) -> bool {
    let mut depth = 0_u32;
    let mut bytes = payload.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(inner) = bytes.next() {
                    match inner {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
