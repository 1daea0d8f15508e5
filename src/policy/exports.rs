//! The entry points. This module needs an unsafe attribute, because a waPC host finds `wapc_init` by its name.

use wapc_guest::{CallResult, register_function};

use super::host::Host;
use crate::wire;

/// Registers the operations of a Kubewarden policy. The host calls it for each instance, and an instance serves one
/// request, so it does nothing else.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub(super) extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version);
}

#[allow(clippy::unnecessary_wraps)]
fn validate(payload: &[u8]) -> CallResult {
    Ok(wire::validate(payload, &mut Host))
}

#[allow(clippy::unnecessary_wraps)]
fn validate_settings(payload: &[u8]) -> CallResult {
    Ok(wire::validate_settings(payload))
}

/// The protocol version of the Kubewarden SDK.
#[allow(clippy::unnecessary_wraps)]
fn protocol_version(_: &[u8]) -> CallResult {
    Ok(br#""v1""#.to_vec())
}

#[cfg(test)]
mod tests {
    use kubewarden_policy_sdk::metadata::ProtocolVersion;
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::{protocol_version, validate, validate_settings};

    #[wasm_bindgen_test]
    fn protocol_version_equals_sdk_version() {
        let sdk = serde_json::to_vec(&ProtocolVersion::V1).expect("JSON");
        assert_eq!(protocol_version(b"").expect("an answer"), sdk);
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
