//! The policy over HTTPS: the AdmissionReview protocol of the API server, as in policy-server.
//!
//! [`server`] listens and bounds connections, `handshakes` orders them, `requests` bounds and answers requests. Only
//! clients that know the secret [`path`] are answered. [`envelope`] reads reviews and writes responses. [`engine`]
//! decides: [`Native`] is the decision itself; the tests replace it by the compiled policy. [`cluster`] answers
//! lookups. [`renewal`] renews the [`certificates`], and writes them and the path to the webhook configurations.

mod body;
#[cfg(test)]
mod bounds_tests;
pub mod certificates;
pub mod cluster;
mod connections;
pub mod engine;
pub mod envelope;
#[cfg(test)]
mod fixtures;
mod handshakes;
pub mod identity;
mod limits;
pub mod metrics;
mod patch;
pub mod path;
pub mod renewal;
mod requests;
mod room;
pub mod server;

pub use cluster::ApiServer;
pub use engine::{Engine, EngineError, Evaluation, Native};
pub use envelope::{AdmissionResponse, AdmissionReview, EnvelopeError};
pub use identity::{Identity, IdentityError};
pub use limits::Limits;
pub use metrics::WebhookMetrics;
pub use path::SecretPath;
pub use renewal::CertificateSecret;
pub use requests::Engines;
pub use server::{Running, Server, ServerError};
