//! The envelope: an AdmissionReview (`admission.k8s.io/v1`) in, an AdmissionReview with the answer out.
//!
//! Pure functions over bytes. The request inside is never decoded here but for its uid: what the API server wrote is
//! what the engine reads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::patch::patch;

/// The only supported version of the protocol.
pub const API_VERSION: &str = "admission.k8s.io/v1";

/// The fields of an AdmissionReview that the envelope reads.
#[derive(Clone, Debug)]
pub struct AdmissionReview<'a> {
    /// The uid, which the response repeats.
    pub uid: Cow<'a, str>,
    /// The whole AdmissionRequest as received.
    pub request: &'a RawValue,
    /// The object as received; none for DELETE.
    pub object: Option<&'a RawValue>,
}

/// The reason why a body is no AdmissionReview. No message contains parts of the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// An empty body.
    #[error("expected an AdmissionReview, but found nothing")]
    Empty,
    /// Not text.
    #[error("expected UTF-8, but found another byte at offset {offset}")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// Text, but no JSON.
    #[error("expected JSON, but found something else at line {line}, column {column}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// JSON, but no review.
    #[error("expected an AdmissionReview of admission.k8s.io/v1, but found {found}")]
    NotAReview {
        /// What was found.
        found: &'static str,
    },
}

/// The response to an AdmissionReview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionResponse {
    /// The uid of the request.
    pub uid: String,
    /// True iff the request is allowed.
    pub allowed: bool,
    /// The reason of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ResponseStatus>,
    /// `JSONPatch` iff there is a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<&'static str>,
    /// The patch, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// For the audit log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub audit_annotations: BTreeMap<String, String>,
    /// For the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The status of a denial: the fields of `metav1.Status` that a webhook can set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResponseStatus {
    /// The HTTP code; without one the API server answers 400.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Kubewarden's ValidationResponse.
#[derive(Deserialize)]
struct ValidationResponse<'a> {
    accepted: bool,
    message: Option<String>,
    code: Option<u16>,
    #[serde(borrow)]
    mutated_object: Option<&'a RawValue>,
    audit_annotations: Option<BTreeMap<String, String>>,
    warnings: Option<Vec<String>>,
}

impl<'a> AdmissionReview<'a> {
    /// Reads the body of a call by the API server.
    ///
    /// The objects are not parsed, so nothing in them can make this fail, however deeply they nest.
    ///
    /// # Errors
    /// [`EnvelopeError`] if the body is no AdmissionReview with a uid.
    pub fn read(body: &'a [u8]) -> Result<Self, EnvelopeError> {
        #[derive(Deserialize)]
        struct ReviewHead<'a> {
            #[serde(borrow, rename = "apiVersion")]
            api_version: Option<Cow<'a, str>>,
            #[serde(borrow)]
            kind: Option<Cow<'a, str>>,
            #[serde(borrow)]
            request: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct RequestHead<'a> {
            #[serde(borrow)]
            uid: Option<Cow<'a, str>>,
            #[serde(borrow)]
            object: Option<&'a RawValue>,
        }

        let text = std::str::from_utf8(body).map_err(|error| EnvelopeError::NotUtf8 {
            offset: error.valid_up_to(),
        })?;
        if text.trim_ascii().is_empty() {
            return Err(EnvelopeError::Empty);
        }
        let not_a_review = |found| EnvelopeError::NotAReview { found };
        let outer: ReviewHead<'_> = serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => not_a_review("another JSON value"),
            _ => EnvelopeError::NotJson {
                line: error.line(),
                column: error.column(),
            },
        })?;
        // A list of the right length would be read as the fields in their order.
        if !text.trim_ascii_start().starts_with('{') {
            return Err(not_a_review("another JSON value"));
        }
        if outer.kind.as_deref() != Some("AdmissionReview") {
            return Err(not_a_review("another kind"));
        }
        if outer.api_version.as_deref() != Some(API_VERSION) {
            return Err(not_a_review("another apiVersion"));
        }
        let request = outer.request.ok_or(not_a_review("no request"))?;
        let object = Some(request.get()).filter(|text| text.starts_with('{'));
        let inner: RequestHead<'_> = object
            .and_then(|text| serde_json::from_str(text).ok())
            .ok_or(not_a_review("another value as the request"))?;
        let uid = inner
            .uid
            .filter(|uid| !uid.is_empty())
            .ok_or(not_a_review("a request without uid"))?;
        Ok(Self {
            uid,
            request,
            object: inner.object,
        })
    }

    /// The response to this review, given the engine's answer (Kubewarden's ValidationResponse in JSON).
    ///
    /// The patch is the difference between the received object and `mutated_object`, made with the crate that
    /// policy-server uses; equal objects make no patch. An answer that cannot be used is a denial.
    #[must_use]
    pub fn respond(&self, answer: &[u8]) -> AdmissionResponse {
        let Ok(answer) = serde_json::from_slice::<ValidationResponse<'_>>(answer) else {
            return self.fail("the policy returned no ValidationResponse");
        };
        let patch = match (answer.accepted, answer.mutated_object, self.object) {
            (false, _, _) | (true, None, _) => None,
            (true, Some(_), None) => return self.deny(None, NULL_OBJECT),
            (true, Some(after), Some(before)) => match patch(before, after) {
                Ok(patch) => patch,
                Err(side) => return self.fail(&format!("failed to decode {side}")),
            },
        };
        let has_status = answer.message.is_some() || answer.code.is_some();
        AdmissionResponse {
            uid: self.uid.to_string(),
            allowed: answer.accepted,
            status: has_status.then_some(ResponseStatus {
                code: answer.code,
                message: answer.message,
            }),
            patch_type: patch.is_some().then_some("JSONPatch"),
            patch,
            audit_annotations: answer.audit_annotations.unwrap_or_default(),
            warnings: answer.warnings.unwrap_or_default(),
        }
    }

    /// A denial.
    #[must_use]
    pub fn deny(&self, code: Option<u16>, message: &str) -> AdmissionResponse {
        AdmissionResponse {
            uid: self.uid.to_string(),
            allowed: false,
            status: Some(ResponseStatus {
                code,
                message: Some(message.to_owned()),
            }),
            patch_type: None,
            patch: None,
            audit_annotations: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// A denial because of an internal error, with the message that policy-server uses.
    #[must_use]
    pub fn fail(&self, message: &str) -> AdmissionResponse {
        self.deny(Some(500), &format!("internal server error: {message}"))
    }
}

impl AdmissionResponse {
    /// The AdmissionReview that carries this response.
    #[must_use]
    pub fn to_review(&self) -> Vec<u8> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ReviewEnvelope<'a> {
            api_version: &'static str,
            kind: &'static str,
            response: &'a AdmissionResponse,
        }
        let review = ReviewEnvelope {
            api_version: API_VERSION,
            kind: "AdmissionReview",
            response: self,
        };
        // Strings, numbers and maps with string keys always have a JSON form.
        serde_json::to_vec(&review).unwrap_or_default()
    }
}

/// The message of policy-server if a policy mutates a request without an object.
const NULL_OBJECT: &str = "Incoming object is null, which happens only with DELETE operations, but the policy is attempting a mutation. This is not allowed";

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
