//! Decodes a request, calls decision one and encodes the answer. The guest, the webhook and `review` all use this
//! module, so their answers are equal byte for byte.

mod answer;
pub(crate) mod request;
mod splice;

use self::splice::Edited;
use crate::admission::{Denial, Lookups, Settings, Verdict, admit};

/// Answers the waPC call `validate`: `{"request": <AdmissionRequest>, "settings": <object>}` in, Kubewarden's
/// ValidationResponse out.
///
/// # Guarantees
/// Never fails and never panics: malformed input is denied, and the answer contains nothing of the payload but names.
/// Time and memory are linear in the payload.
#[must_use]
pub fn validate(payload: &[u8], lookups: &mut dyn Lookups) -> Vec<u8> {
    let outcome = decide(payload, lookups);
    answer::encode(&outcome.unwrap_or_else(|denial| (Verdict::Deny(denial), None)))
}

/// Answers the waPC call `validate_settings`: settings in, `{"valid": bool, "message": string|null}` out.
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Vec<u8> {
    answer::encode_settings(settings_fault(payload).as_deref())
}

/// All faults of the settings, in one line; `None` if they are valid.
pub(crate) fn settings_fault(payload: &[u8]) -> Option<String> {
    let text = str::from_utf8(payload).map_err(|_| "settings: expected UTF-8".to_owned());
    text.and_then(Settings::read).err()
}

/// The verdict, with the edited object where there are edits.
fn decide<'p>(payload: &'p [u8], lookups: &mut dyn Lookups) -> Result<(Verdict, Option<Edited<'p>>), Denial> {
    let Some((review, settings)) = request::decode(payload)? else {
        return Ok((Verdict::PASS, None));
    };
    let settings = Settings::read(settings).map_err(|faults| Denial::malformed(format!("claim-rollout: {faults}")))?;
    let verdict = admit(&review, &settings, lookups);
    let object = match &verdict {
        Verdict::Stage(edits, _) => {
            let edited = splice::edited_object(&review, edits);
            Some(edited.map_err(|error| Denial::malformed(format!("claim-rollout: request.object: {error}")))?)
        }
        _ => None,
    };
    Ok((verdict, object))
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
