//! Decodes a request, calls decision one and encodes the answer. The guest, the webhook and `review` all use this
//! module, so their answers are equal byte for byte.

use super::decide::admit;
use super::lookups::Lookups;
use super::settings::Settings;
use crate::wire::{self, Denial};

/// Answers the waPC call `validate`: `{"request": <AdmissionRequest>, "settings": <object>}` in, Kubewarden's
/// ValidationResponse out.
///
/// # Guarantees
/// Never fails and never panics: malformed input is denied, and the answer contains nothing of the payload but names.
/// Time and memory are linear in the payload.
#[must_use]
pub fn validate(payload: &[u8], lookups: &mut dyn Lookups) -> Vec<u8> {
    match wire::decode(payload) {
        Err(denial) => wire::deny(&denial),
        Ok(None) => wire::accept(),
        Ok(Some((review, settings))) => match Settings::read(settings) {
            Err(faults) => wire::deny(&Denial::malformed(format!("claim-rollout: {faults}"))),
            Ok(settings) => wire::encode(&review, &admit(&review, &settings, lookups)),
        },
    }
}

/// Answers the waPC call `validate_settings`: settings in, `{"valid": bool, "message": string|null}` out.
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Vec<u8> {
    wire::encode_settings(settings_fault(payload).as_deref())
}

/// All faults of the settings, in one line; `None` if they are valid.
#[must_use]
pub fn settings_fault(payload: &[u8]) -> Option<String> {
    let text = str::from_utf8(payload).map_err(|_| "settings: expected UTF-8".to_owned());
    text.and_then(Settings::read).err()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
