//! Decision one over HTTPS: the AdmissionReview protocol of the API server, as policy-server speaks it.
//!
//! [`server`] listens and bounds what connections may take, `handshakes` puts them in order, `requests` bounds what
//! requests may take; who does not know the [`path`] is not answered. [`envelope`] takes a review apart and puts the
//! answer together, [`engine`] is what decides in between: here it is [`Native`], the decision itself; the tests put
//! the compiled policy in its place. [`cluster`] answers what it asks, and [`keeper`] sees to it that API servers know
//! the path and trust the [`certificates`].

mod body;
#[cfg(test)]
mod bounds_tests;
pub mod certificates;
pub mod cluster;
pub mod engine;
pub mod envelope;
#[cfg(test)]
mod fixtures;
mod guests;
mod handshakes;
pub mod identity;
pub mod keeper;
mod limits;
pub mod metrics;
mod patch;
pub mod path;
mod requests;
mod room;
pub mod server;

pub use cluster::Cluster;
pub use engine::{Engine, EngineError, Evaluation, Native};
pub use envelope::{AdmissionResponse, AdmissionReview, EnvelopeError};
pub use identity::{Identity, IdentityError};
pub use keeper::Keeping;
pub use limits::Limits;
pub use metrics::Metrics;
pub use path::SecretPath;
pub use requests::Engines;
pub use server::{Running, Server, ServerError, serve};
