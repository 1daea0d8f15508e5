//! Our controller in the model: the loop between the decision and the API server, step by step.
//!
//! The decision is the real one. The model is the loop around it: a reconcile keeps the set that it started with,
//! decides, sends its requests one after the other, decides again after each round that changed something, and
//! reports at the end.

mod instance;
pub(crate) mod memory;
mod requests;

pub(crate) use instance::{Instance, NextReconcile};
