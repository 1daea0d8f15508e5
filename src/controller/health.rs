//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use kube::runtime::reflector::Store;
use tokio::net::TcpListener;

use super::crd::ClaimRollout;
use super::metrics::Metrics;

/// What the endpoints answer from.
#[derive(Clone)]
pub(super) struct Health {
    pub(super) metrics: Arc<Metrics>,
    pub(super) rollouts: Store<ClaimRollout>,
    /// The first lists of sets and ClaimRollouts have been read.
    pub(super) ready: Arc<AtomicBool>,
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

/// Once ready, always ready: an API server that goes away later is nothing that a restart would heal.
async fn readyz(State(health): State<Health>) -> impl IntoResponse {
    if health.ready.load(Ordering::Acquire) {
        (StatusCode::OK, "ok")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the first lists have not been read")
    }
}

async fn metrics(State(health): State<Health>) -> impl IntoResponse {
    let rollouts = health.rollouts.state();
    health.metrics.rollouts(rollouts.iter().map(|rollout| {
        let conditions = rollout.status.as_ref().map_or(&[][..], |status| &status.conditions);
        conditions
            .iter()
            .find(|condition| condition.type_ == "Ready")
            .map_or("", |ready| &ready.reason)
    }));
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
