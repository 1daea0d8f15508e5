//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use kube::runtime::reflector::Store;
use tokio::net::TcpListener;

use super::census::Census;
use super::clock;
use super::crd::ClaimRollout;
use super::metrics::Metrics;
use super::watch::lock;

/// What the endpoints answer from.
#[derive(Clone, Default)]
pub(super) struct Health {
    pub(super) metrics: Arc<Metrics>,
    /// While we lead, what is watched of ClaimRollouts.
    rollouts: Arc<Mutex<Option<Store<ClaimRollout>>>>,
    /// The first lists have been read, or somebody else was seen to lead.
    ready: Arc<AtomicBool>,
}

/// We lead for as long as it is there.
pub(super) struct Leading<'a>(&'a Health);

impl Health {
    /// Once ready, always ready: an API server that goes away later is nothing that a restart would heal.
    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Tells the metrics that we lead from now on, and what to count.
    pub(super) fn leading(&self, rollouts: Store<ClaimRollout>) -> Leading<'_> {
        *lock(&self.rollouts) = Some(rollouts);
        self.metrics.leads(true);
        Leading(self)
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        *lock(&self.0.rollouts) = None;
        self.0.metrics.leads(false);
    }
}

/// Serves until `shutdown`, and then finishes the answers that have begun.
pub(super) async fn serve(
    listener: TcpListener,
    health: Health,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let app = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health);
    axum::serve(listener, app).with_graceful_shutdown(shutdown).await
}

async fn readyz(State(health): State<Health>) -> impl IntoResponse {
    if health.ready.load(Ordering::Acquire) {
        (StatusCode::OK, "ok")
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "neither have the first lists been read nor is another leader seen",
        )
    }
}

async fn metrics(State(health): State<Health>) -> impl IntoResponse {
    let rollouts = lock(&health.rollouts).as_ref().map(Store::state).unwrap_or_default();
    let census = Census::take(rollouts.iter().map(AsRef::as_ref), clock());
    health.metrics.census(&census);
    match health.metrics.text() {
        Ok(text) => {
            let kind = [(
                header::CONTENT_TYPE,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            )];
            (kind, text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
