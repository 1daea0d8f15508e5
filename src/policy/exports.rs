//! The entry points. This module needs an unsafe attribute, because a waPC host finds `wapc_init` by its name.

use kubewarden_policy_sdk::{protocol_version_guest, validate_settings as sdk_validate_settings};
use wapc_guest::{CallResult, register_function};

use super::host::Host;
use super::settings::GivenSettings;
use crate::admission;

/// Registers the operations of a Kubewarden policy. The host calls it for each instance, and an instance serves one
/// request, so it does nothing else.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub(super) extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

#[allow(clippy::unnecessary_wraps)]
fn validate(payload: &[u8]) -> CallResult {
    Ok(admission::validate(payload, &mut Host))
}

/// The error of the SDK for a text that is not JSON contains that text, so the answer names the fault instead. An empty
/// text means the defaults.
fn validate_settings(payload: &[u8]) -> CallResult {
    sdk_validate_settings::<GivenSettings>(payload).or_else(|_| Ok(admission::validate_settings(payload)))
}

#[cfg(test)]
mod tests {
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::{validate, validate_settings};
    use crate::admission;

    /// The guest answers through the SDK, the webhook without it.
    #[wasm_bindgen_test]
    fn settings_get_the_answer_of_the_webhook() {
        for payload in [
            &b""[..],
            b" ",
            b"null",
            b"{}",
            b" {} ",
            b"{",
            b"{}x",
            b"[]",
            b"7",
            b"\xff",
            b"\"\xff\"",
            b"{\"mode\":\"\\ud800\"}",
            br#"{"mode":"Stage"}"#,
            br#"{"mode":"x\"y","shrink":7,"z":[]}"#,
            br#"{"mode":"Stage","mode":"Stage"}"#,
        ] {
            assert_eq!(
                validate_settings(payload).expect("an answer"),
                admission::validate_settings(payload),
                "{payload:?}"
            );
        }
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert_eq!(
            validate_settings(deep.as_bytes()).expect("an answer"),
            admission::validate_settings(deep.as_bytes())
        );
    }

    #[wasm_bindgen_test]
    fn operation_on_malformed_input_returns_answer() {
        assert_eq!(
            validate_settings(b"\xff").expect("an answer"),
            br#"{"valid":false,"message":"settings: expected UTF-8"}"#
        );
        for payload in [&b""[..], b"[", b"\xff", b"null", b"{\"request\":{}}"] {
            let answer = validate(payload).expect("an answer");
            assert!(
                answer.starts_with(br#"{"accepted":false,"message":"claim-rollout: "#),
                "{payload:?}"
            );
        }
    }
}
