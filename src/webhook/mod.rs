//! Decision one over HTTPS: the AdmissionReview protocol of the API server, as policy-server speaks it.
//!
//! [`envelope`] takes a review apart and puts the answer together, [`engine`] is what decides in between, [`server`]
//! listens. The engine here is [`Native`], the decision itself; the tests put the compiled policy in its place.
//! [`cluster`] answers what it asks, and [`keeper`] sees to it that API servers trust its [`certificates`].

pub mod certificates;
pub mod cluster;
pub mod engine;
pub mod envelope;
pub mod keeper;
pub mod server;

pub use cluster::Cluster;
pub use engine::{Engine, EngineError, Evaluation, Native};
pub use envelope::{EnvelopeError, Response, Review};
pub use keeper::Keeping;
pub use server::{Identity, Limits, Running, ServerError, serve};
