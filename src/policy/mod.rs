//! The waPC policy that policy-server loads. Built for wasm32 only.
//!
//! [`crate::wire`] makes the decisions; this module contains the entry points, the metadata and the lookups through the
//! host.

mod exports;
mod heap;
mod host;
#[cfg(not(claim_rollout_no_metadata))]
mod metadata;
mod settings;
