//! Output: Kubewarden's ValidationResponse, with all of its fields.
//!
//! In the policy, the SDK writes the answers that accept or deny and have nothing else. Own code writes the others: the
//! object is copied byte for byte, which `serde_json::Value` does not do, and audit annotations keep their order, which
//! the SDK's `HashMap` does not.

use super::review::Review;
use super::splice::{Edited, edited_object};
use super::verdict::{Denial, Remarks, Verdict};
use crate::json::write_string;

/// The answer to `validate`: the verdict on this request.
pub(crate) fn encode(review: &Review<'_>, verdict: &Verdict) -> Vec<u8> {
    match verdict {
        Verdict::Deny(denial) => deny(denial),
        Verdict::Pass(remarks) if remarks.audit.is_empty() && remarks.warnings.is_empty() => accept(),
        Verdict::Pass(remarks) => accepted(None, remarks),
        Verdict::Stage(edits, remarks) => match edited_object(review, edits) {
            Ok(object) => accepted(Some(&object), remarks),
            Err(error) => deny(&Denial::malformed(format!("claim-rollout: request.object: {error}"))),
        },
    }
}

/// The answer that accepts, and has nothing else.
pub(crate) fn accept() -> Vec<u8> {
    sdk::accept()
}

/// The answer that denies.
pub(crate) fn deny(denial: &Denial) -> Vec<u8> {
    sdk::deny(&denial.message, denial.code)
}

/// The answers of the SDK. Its errors are those of a serialisation that cannot fail; an empty answer is an error of the
/// policy in every host.
#[cfg(target_family = "wasm")]
mod sdk {
    use kubewarden_policy_sdk::{accept_request, reject_request}; // words: allowed

    pub(super) fn accept() -> Vec<u8> {
        accept_request().unwrap_or_default()
    }

    pub(super) fn deny(message: &str, code: u16) -> Vec<u8> {
        reject_request(Some(message.to_owned()), Some(code), None, None).unwrap_or_default() // words: allowed
    }
}

/// The same texts for the webhook and the programs, which do not contain the SDK.
#[cfg(not(target_family = "wasm"))]
mod sdk {
    pub(super) fn accept() -> Vec<u8> {
        let text = r#"{"accepted":true,"message":null,"code":null,"mutated_object":null,"audit_annotations":null,"warnings":null}"#;
        text.into()
    }

    pub(super) fn deny(message: &str, code: u16) -> Vec<u8> {
        let message = serde_json::Value::from(message);
        let rest = r#""mutated_object":null,"audit_annotations":null,"warnings":null}"#;
        format!(r#"{{"accepted":false,"message":{message},"code":{code},{rest}"#).into_bytes()
    }
}

/// An answer that accepts, with an object or remarks.
fn accepted(object: Option<&Edited<'_>>, remarks: &Remarks) -> Vec<u8> {
    let mut text = String::with_capacity(512 + object.map_or(0, Edited::capacity));
    text.push_str("{\"accepted\":true,\"message\":null,\"code\":null,\"mutated_object\":");
    match object {
        Some(object) => object.write(&mut text),
        None => text.push_str("null"),
    }
    push_remarks(&mut text, remarks);
    text.push('}');
    text.into_bytes()
}

fn push_remarks(text: &mut String, remarks: &Remarks) {
    text.push_str(",\"audit_annotations\":");
    separated(text, ['{', '}'], &remarks.audit, |text, (key, value)| {
        write_string(key, text);
        text.push(':');
        write_string(value, text);
    });
    text.push_str(",\"warnings\":");
    separated(text, ['[', ']'], &remarks.warnings, |text, warning| {
        write_string(warning, text);
    });
}

/// The answer to `validate_settings`.
pub(crate) fn encode_settings(fault: Option<&str>) -> Vec<u8> {
    let mut text = String::new();
    match fault {
        None => text.push_str("{\"valid\":true,\"message\":null}"),
        Some(fault) => {
            text.push_str("{\"valid\":false,\"message\":");
            write_string(fault, &mut text);
            text.push('}');
        }
    }
    text.into_bytes()
}

/// Items between two brackets, or `null` without items.
fn separated<T>(text: &mut String, [open, close]: [char; 2], items: &[T], write: impl Fn(&mut String, &T)) {
    if items.is_empty() {
        text.push_str("null");
        return;
    }
    for (index, item) in items.iter().enumerate() {
        text.push(if index == 0 { open } else { ',' });
        write(text, item);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use kubewarden_policy_sdk::{accept_request, reject_request}; // words: allowed

    use super::sdk;

    #[test]
    fn native_answer_has_the_bytes_of_the_sdk() {
        assert_eq!(sdk::accept(), accept_request().expect("an answer"));
        let all: String = (0..0x300)
            .filter_map(char::from_u32)
            .chain("\u{2028}\u{1f600}".chars())
            .collect();
        for message in ["", "no", &all] {
            let theirs = reject_request(Some(message.to_owned()), Some(403), None, None); // words: allowed
            assert_eq!(sdk::deny(message, 403), theirs.expect("an answer"), "{message:?}");
        }
    }
}
