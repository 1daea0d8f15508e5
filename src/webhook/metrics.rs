//! `claim_rollout_webhook_*` for Prometheus; docs/webhook.md lists them. No label names an object or a user, and all
//! series are there from the beginning.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::metrics::{Counters, answer, families, family, number, text};
use crate::templates::words::words;

/// A number of bytes.
pub(super) type Bytes = Gauge<u64, AtomicU64>;

/// The codes of answers over HTTP.
const CODES: [&str; 7] = ["200", "400", "404", "405", "408", "413", "503"];

words! {
    /// The outcome of a review.
    pub enum ReviewOutcome {
        /// The policy allows the request.
        Allowed = "allowed",
        /// The policy denies the request.
        Denied = "denied",
        /// The policy could not decide.
        Failed = "failed",
        /// The policy did not decide in time.
        Late = "late",
    }
}

words! {
    /// The bound that a request or a connection has reached.
    pub enum Bound {
        /// The length of a body.
        BodyLength = "body_length",
        /// The room that all bodies share.
        BodyRoom = "body_room",
        /// The time for a body.
        BodyTime = "body_time",
        /// The time until the first request.
        Introduction = "introduction",
        /// The number of connections.
        Connections = "connections",
    }
}

families! {
    /// What the webhook counts and measures.
    struct WebhookFamilies {
        requests: Counters = family("code", &CODES), "Requests by the code of the answer";
        reviews: Counters = family("outcome", &ReviewOutcome::WORDS), "Reviews by outcome";
        bounds: Counters = family("bound", &Bound::WORDS),
            "Requests and connections that were denied because of a bound";
        connections: Gauge = Gauge::default(), "Open connections";
        bodies: Bytes = Bytes::default(), "Memory for the bodies of requests in progress" in Bytes;
        request: Histogram = Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
            "Time from the head of a review to its answer" in Seconds;
    }
}

/// The metrics of the webhook.
#[derive(Debug)]
pub struct WebhookMetrics {
    registry: Registry,
    families: WebhookFamilies,
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("claim_rollout_webhook");
        Self {
            families: WebhookFamilies::new(&mut registry),
            registry,
        }
    }
}

impl WebhookMetrics {
    pub(super) fn request(&self, code: u16) {
        if let Some(code) = CODES.into_iter().find(|known| known.parse() == Ok(code)) {
            self.families.requests.get_or_create(&[("code", code)]).inc();
        }
    }

    pub(super) fn review(&self, outcome: ReviewOutcome, took: Duration) {
        self.families
            .reviews
            .get_or_create(&[("outcome", outcome.as_str())])
            .inc();
        self.families.request.observe(took.as_secs_f64());
    }

    pub(super) fn bound(&self, bound: Bound) {
        self.families.bounds.get_or_create(&[("bound", bound.as_str())]).inc();
    }

    pub(super) fn connections(&self, count: usize) {
        self.families.connections.set(number(count));
    }

    /// The gauge of the bytes in use.
    pub(super) fn bytes(&self) -> Bytes {
        self.families.bodies.clone()
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// None in practice: writing to a string does not fail.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        text(&self.registry)
    }
}

/// Serves `/metrics` without TLS, for ever.
///
/// # Errors
/// None known: the server continues after errors of connections.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<WebhookMetrics>) -> std::io::Result<()> {
    let app = Router::new().route("/metrics", get(async move || answer(metrics.text())));
    axum::serve(listener, app).await
}
