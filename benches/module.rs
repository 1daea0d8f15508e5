//! The module under test, and the configuration of its engine.

use std::{env, fs};

use wasmtime_provider::EpochDeadlines;
use wasmtime_provider::wasmtime::Config;

use crate::Result;

/// The deadlines do not expire, because nobody advances the epoch. But the guests contain the checks, as in
/// policy-server.
pub(crate) const DEADLINES: EpochDeadlines = EpochDeadlines {
    wapc_init: 2,
    wapc_func: 2,
};

/// Reads the module whose path is in this environment variable.
pub(crate) fn read(name: &str) -> Result<Vec<u8>> {
    let path = env::var(name).map_err(|_| format!("{name} must name a wasm module; `make bench` sets it"))?;
    Ok(fs::read(&path).map_err(|error| format!("{name}: {path}: {error}"))?)
}

/// The configuration of policy-server.
pub(crate) fn policy_server() -> Config {
    let mut config = Config::new();
    config.wasm_function_references(true).epoch_interruption(true);
    config
}
