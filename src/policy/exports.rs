//! The entry points. With the metadata, the one place in the crate with an unsafe attribute: a waPC host finds
//! `wapc_init` by its name.

use wapc_guest::{CallResult, register_function};

use super::host::Host;
use crate::wire;

/// Registers the operations of a Kubewarden policy. Called by the host once per instance, and an instance lives for one
/// request, so nothing else is done here.
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

/// The protocol that the SDK of Kubewarden speaks.
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
    fn the_guest_speaks_the_protocol_of_the_sdk() {
        let sdk = serde_json::to_vec(&ProtocolVersion::V1).expect("JSON");
        assert_eq!(protocol_version(b"").expect("an answer"), sdk);
    }

    #[wasm_bindgen_test]
    fn an_operation_answers_what_it_cannot_understand() {
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
