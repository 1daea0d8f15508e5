//! `claim_rollout_webhook_*` for Prometheus; docs/webhook.md lists them. No label names an object or a user, and all
//! series are there from the beginning.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::net::TcpListener;

type Counters = Family<[(&'static str, &'static str); 1], Counter>;
/// A number of bytes.
pub(super) type Bytes = Gauge<u64, AtomicU64>;

/// The codes of answers over HTTP.
const CODES: [&str; 7] = ["200", "400", "404", "405", "408", "413", "503"];

/// The outcome of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewOutcome {
    Allowed,
    Denied,
    /// The policy could not decide.
    Failed,
    /// The policy did not decide in time.
    Late,
}

/// The bound that a request or a connection has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The length of a body.
    BodyLength,
    /// The room that all bodies share.
    BodyRoom,
    /// The time for a body.
    BodyTime,
    /// The time until the first request.
    Introduction,
    /// The number of connections.
    Connections,
}

/// The metrics of the webhook.
#[derive(Debug)]
pub struct WebhookMetrics {
    registry: Registry,
    requests: Counters,
    reviews: Counters,
    bounds: Counters,
    connections: Gauge,
    bytes: Bytes,
    durations: Histogram,
}

impl ReviewOutcome {
    const ALL: [Self; 4] = [Self::Allowed, Self::Denied, Self::Failed, Self::Late];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Late => "late",
        }
    }
}

impl Bound {
    const ALL: [Self; 5] = [
        Self::BodyLength,
        Self::BodyRoom,
        Self::BodyTime,
        Self::Introduction,
        Self::Connections,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::BodyLength => "body_length",
            Self::BodyRoom => "body_room",
            Self::BodyTime => "body_time",
            Self::Introduction => "introduction",
            Self::Connections => "connections",
        }
    }
}

/// A family with all its members from the beginning: without a zero, the first increase of a counter is invisible.
fn family(label: &'static str, values: impl IntoIterator<Item = &'static str>) -> Counters {
    let family = Family::default();
    for value in values {
        drop(family.get_or_create(&[(label, value)]));
    }
    family
}

impl Default for WebhookMetrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("claim_rollout_webhook"),
            requests: family("code", CODES),
            reviews: family("outcome", ReviewOutcome::ALL.map(ReviewOutcome::as_str)),
            bounds: family("bound", Bound::ALL.map(Bound::as_str)),
            connections: Gauge::default(),
            bytes: Bytes::default(),
            durations: Histogram::new([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]),
        };
        metrics.register();
        metrics
    }
}

impl WebhookMetrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        for (name, help, family) in [
            ("requests", "Requests by the code of the answer", &self.requests),
            ("reviews", "Reviews by outcome", &self.reviews),
            (
                "bounds",
                "Requests and connections that were denied because of a bound",
                &self.bounds,
            ),
        ] {
            registry.register(name, help, family.clone());
        }
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register_with_unit(
            "bodies",
            "Memory for the bodies of requests in progress",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register_with_unit(
            "request",
            "Time from the head of a review to its answer",
            Unit::Seconds,
            self.durations.clone(),
        );
    }

    pub(super) fn request(&self, code: u16) {
        if let Some(code) = CODES.into_iter().find(|known| known.parse() == Ok(code)) {
            self.requests.get_or_create(&[("code", code)]).inc();
        }
    }

    pub(super) fn review(&self, outcome: ReviewOutcome, took: Duration) {
        self.reviews.get_or_create(&[("outcome", outcome.as_str())]).inc();
        self.durations.observe(took.as_secs_f64());
    }

    pub(super) fn bound(&self, bound: Bound) {
        self.bounds.get_or_create(&[("bound", bound.as_str())]).inc();
    }

    pub(super) fn connections(&self, count: usize) {
        self.connections.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// The gauge of the bytes in use.
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The text that Prometheus reads.
    ///
    /// # Errors
    /// None in practice: writing to a string does not fail.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Serves `/metrics` without TLS, for ever.
///
/// # Errors
/// None known: the server continues after errors of connections.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<WebhookMetrics>) -> std::io::Result<()> {
    let app = Router::new().route("/metrics", get(answer)).with_state(metrics);
    axum::serve(listener, app).await
}

async fn answer(State(metrics): State<Arc<WebhookMetrics>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
