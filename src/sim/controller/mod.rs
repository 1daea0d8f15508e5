//! Our controller in the model, step by step.
//!
//! The decision is the real one, and so are the memory between two reconciles and the order of a reconcile, of
//! [`rollout::machine`](crate::rollout::machine). The model reads, sends and hands back answers as they ask for: each
//! request is a step of its own, and a reconcile keeps the set that it started with.

mod instance;
pub(crate) mod memory;
mod requests;

pub(crate) use instance::{Instance, NextReconcile};
