//! Converts policy-metadata.yml to JSON for the section `io.kubewarden.metadata` of the wasm module, with
//! policy-readme.md as the usage that `kwctl inspect` shows.
//!
//! `CLAIM_ROLLOUT_METADATA=none` sets `cfg(claim_rollout_no_metadata)`: a module without the section. `kwctl annotate`
//! appends its own section, and of two sections only the first one counts.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use serde_json::{Map, Value};

const SOURCE: &str = "policy-metadata.yml";
const README: &str = "policy-readme.md";
/// The annotation that `kwctl annotate -u` writes.
const USAGE: &str = "io.kubewarden.policy.usage";
const SWITCH: &str = "CLAIM_ROLLOUT_METADATA";

/// A key of the metadata, its expected value, and whether Kubewarden requires it.
struct Key {
    name: &'static str,
    expected: &'static str,
    is: fn(&Value) -> bool,
    required: bool,
}

const fn key(name: &'static str, expected: &'static str, is: fn(&Value) -> bool, required: bool) -> Key {
    Key {
        name,
        expected,
        is,
        required,
    }
}

const KEYS: &[Key] = &[
    key(
        "rules",
        "a list that is not empty",
        |v| v.as_array().is_some_and(|rules| !rules.is_empty()),
        true,
    ),
    key("mutating", "true or false", Value::is_boolean, true),
    // The default of Kubewarden is true, which is wrong for this policy.
    key("backgroundAudit", "true or false", Value::is_boolean, true),
    key("executionMode", "kubewarden-wapc", |v| v == "kubewarden-wapc", true),
    key("policyType", "kubernetes", |v| v == "kubernetes", true),
    // Without this key, policy-server does not load a waPC module.
    key("protocolVersion", "v1", |v| v == "v1", true),
    key("contextAwareResources", "a list", Value::is_array, true),
    key("hostCapabilities", "a list", Value::is_array, true),
    key("minimumKubewardenVersion", "a version", Value::is_string, false),
    key(
        "annotations",
        "a map of strings",
        |v| v.as_object().is_some_and(|all| all.values().all(Value::is_string)),
        true,
    ),
];

fn main() -> ExitCode {
    println!("cargo::rustc-check-cfg=cfg(claim_rollout_no_metadata)");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={README}");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    match env::var(SWITCH).as_deref() {
        Err(_) | Ok("") => {}
        Ok("none") => println!("cargo::rustc-cfg=claim_rollout_no_metadata"),
        Ok(other) => return Err(format!("{SWITCH}: expected none or nothing, but found {other}")),
    }
    let text = fs::read_to_string(SOURCE).map_err(|error| format!("{SOURCE}: {error}"))?;
    let mut metadata: Map<String, Value> =
        serde_saphyr::from_str(&text).map_err(|error| format!("{SOURCE}: {error}"))?;
    check(&metadata)?;
    let usage = fs::read_to_string(README).map_err(|error| format!("{README}: {error}"))?;
    metadata["annotations"][USAGE] = usage.into();
    let out = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let json = serde_json::to_string(&metadata).map_err(|error| format!("{SOURCE}: {error}"))?;
    fs::write(Path::new(&out).join("metadata.json"), json).map_err(|error| format!("{out}: {error}"))
}

/// Returns all faults, in one line.
fn check(metadata: &Map<String, Value>) -> Result<(), String> {
    let mut faults = Vec::new();
    for Key {
        name,
        expected,
        is,
        required,
    } in KEYS
    {
        match metadata.get(*name) {
            None if *required => faults.push(format!("{name} is missing (expected {expected})")),
            Some(value) if !is(value) => faults.push(format!("{name}: expected {expected}, but found {value}")),
            _ => {}
        }
    }
    // Kubewarden silently ignores unknown keys, so a typo is an error here.
    for name in metadata.keys().filter(|name| KEYS.iter().all(|key| key.name != **name)) {
        faults.push(format!("{name} is not a key of the metadata"));
    }
    let annotations = metadata.get("annotations").unwrap_or(&Value::Null);
    if annotations.get(USAGE).is_some() {
        faults.push(format!("{USAGE}: it is in {README}"));
    }
    let version = env!("CARGO_PKG_VERSION");
    let stated = &annotations["io.kubewarden.policy.version"];
    if stated != version {
        faults.push(format!(
            "io.kubewarden.policy.version: expected {version} as in Cargo.toml, but found {stated}"
        ));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("{SOURCE}: {}", faults.join("; ")))
    }
}
