//! Bytes in: an AdmissionRequest and the settings, decoded in one pass over the payload.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::admission::review::{Kind, Text};
use crate::admission::{Refusal, Review};

/// The waPC payload of `validate`.
#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    request: Review<'a>,
    #[serde(borrow)]
    settings: Option<&'a RawValue>,
}

/// As much of a request as tells whether it is about us, whatever its objects look like.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    request: Head<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow)]
    kind: Kind<'a>,
    #[serde(borrow)]
    sub_resource: Option<Text<'a>>,
}

/// The request and the text of the settings; `None` for a request about something else, whose objects may have any
/// shape.
pub(super) fn decode(payload: &str) -> Result<Option<(Review<'_>, &str)>, Refusal> {
    let error = match serde_json::from_str::<Payload<'_>>(payload) {
        Ok(decoded) => return Ok(Some((decoded.request, decoded.settings.map_or("null", RawValue::get)))),
        Err(error) => error,
    };
    let concerns_us = match serde_json::from_str::<Envelope<'_>>(payload) {
        Ok(Envelope { request }) => {
            &*request.kind.kind == "StatefulSet" && request.sub_resource.is_none_or(|name| name.is_empty())
        }
        Err(_) => true,
    };
    if concerns_us { Err(malformed(&error)) } else { Ok(None) }
}

/// Where decoding stopped. serde_json's own words may quote the payload, so they are not used.
pub(super) fn malformed(error: &serde_json::Error) -> Refusal {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "but it ends too early",
        serde_json::error::Category::Data => "but found a field of another type, twice or not at all",
        _ => "but found no JSON",
    };
    Refusal::malformed(format!(
        "claim-rollout: request: expected an AdmissionRequest about a StatefulSet, {what} at line {} column {}",
        error.line(),
        error.column()
    ))
}
