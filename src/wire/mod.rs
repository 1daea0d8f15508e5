//! Between bytes and decision one: decodes a request, encodes the answer. The guest, the webhook and `review` all go
//! through here, so they give the same answer byte for byte.

use crate::admission::Lookups;

/// Answers the waPC call `validate`: `{"request": <AdmissionRequest>, "settings": <object>}` in, Kubewarden's
/// ValidationResponse out. Never fails: what cannot be understood is refused in the answer.
#[must_use]
pub fn validate(_payload: &[u8], _lookups: &mut dyn Lookups) -> Vec<u8> {
    Vec::new()
}

/// Answers the waPC call `validate_settings`: settings in, `{"valid": bool, "message": string|null}` out.
#[must_use]
pub fn validate_settings(_payload: &[u8]) -> Vec<u8> {
    Vec::new()
}
