//! Decision one over HTTPS: the AdmissionReview protocol of the API server, as policy-server speaks it.
//!
//! [`envelope`] takes a review apart and puts the answer together, [`engine`] is what decides in between, [`server`]
//! listens. The engine here is [`Native`], the decision itself; the tests put the compiled policy in its place.

pub mod engine;
pub mod envelope;
pub mod server;

pub use engine::{Engine, EngineError, Evaluation, Native};
pub use envelope::{EnvelopeError, Response, Review};
pub use server::{Identity, Limits, Running, ServerError, serve};
