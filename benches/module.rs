//! The module under test, and the configuration of its engine.

use std::{env, fs};

use wasmtime_provider::EpochDeadlines;
use wasmtime_provider::wasmtime::Config;

use crate::Result;

/// Never reached, as nobody advances the epoch here; but the guests are compiled with the checks, as in policy-server.
pub(crate) const DEADLINES: EpochDeadlines = EpochDeadlines {
    wapc_init: 2,
    wapc_func: 2,
};

/// The module that this variable names.
pub(crate) fn read(name: &str) -> Result<Vec<u8>> {
    let path = env::var(name).map_err(|_| format!("{name} must name a wasm module; `make bench` sets it"))?;
    Ok(fs::read(&path).map_err(|error| format!("{name}: {path}: {error}"))?)
}

/// policy-server's configuration.
pub(crate) fn policy_server() -> Config {
    let mut config = Config::new();
    config.wasm_function_references(true).epoch_interruption(true);
    config
}
