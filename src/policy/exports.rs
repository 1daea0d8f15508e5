//! The entry points. With the metadata, the one place in the crate with an unsafe attribute: a waPC host finds
//! `wapc_init` by its name.

use kubewarden_policy_sdk::metadata::ProtocolVersion;
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

fn protocol_version(_: &[u8]) -> CallResult {
    Ok(serde_json::to_vec(&ProtocolVersion::V1)?)
}
