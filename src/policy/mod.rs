//! The waPC face: what policy-server loads. Built for wasm32 only.
//!
//! Everything it decides is decided in [`crate::wire`]; here are only the entry points, the metadata and the host's look-ups.

mod exports;
mod heap;
mod host;
#[cfg(not(claim_rollout_no_metadata))]
mod metadata;
