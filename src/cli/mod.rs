//! The command line `claim-rollout`. Installed as `kubectl-claim_rollout`, it is the plugin `kubectl claim-rollout`.
//!
//! One file or folder for each subcommand. Errors are for people: `anyhow`, one line on stderr.

// It ends the program if nothing reads standard error: output::note does not.
#![deny(clippy::print_stderr)]

mod annotate;
mod arguments;
mod class_limits;
mod cluster;
#[cfg(test)]
mod commands_tests;
mod completion;
mod controller;
mod doctor;
#[cfg(test)]
mod documented_tests;
mod drift;
mod examples;
mod files;
mod history;
#[cfg(test)]
mod json_tests;
mod lists;
#[cfg(test)]
mod metrics_tests;
mod output;
mod plan;
mod process;
mod proxy;
mod recorded;
mod replace;
mod retry;
mod review;
mod revisions;
mod row;
mod service;
mod settings_in_use;
#[cfg(test)]
mod socks_tests;
mod status;
mod undo;
mod version;
mod warnings;
mod webhook;
mod withdraw;

pub use arguments::{main, parser};
