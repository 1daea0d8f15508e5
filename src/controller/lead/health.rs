//! `/healthz`, `/readyz` and `/metrics` over HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use kube::runtime::reflector::Store;
use tokio::net::TcpListener;

use crate::controller::clock::clock;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::metrics::states::StateCounts;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::metrics::answer;

/// The state of the endpoints.
#[derive(Clone, Default)]
pub(super) struct Health {
    pub(crate) metrics: Arc<ControllerMetrics>,
    /// The watched ClaimRollouts while this controller leads.
    rollouts: Arc<Mutex<Option<Store<PackedRollout>>>>,
    /// True once the first lists are complete or another controller leads.
    ready: Arc<AtomicBool>,
}

/// This controller leads until the value is dropped.
pub(super) struct Leading<'a>(&'a Health);

impl Health {
    /// Stays ready: a restart does not fix an API server that stops responding later.
    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Sets the leader metric, and the ClaimRollouts to count.
    pub(super) fn leading(&self, rollouts: Store<PackedRollout>) -> Leading<'_> {
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

/// Serves until `shutdown`, and finishes pending responses.
pub(crate) async fn serve(
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
            "waiting for the first lists, or for another leader",
        )
    }
}

async fn metrics(State(health): State<Health>) -> impl IntoResponse {
    let rollouts = lock(&health.rollouts).as_ref().map(Store::state).unwrap_or_default();
    let counts = StateCounts::take(rollouts.iter().map(|rollout| &rollout.counted), clock());
    health.metrics.set_states(&counts);
    answer(health.metrics.text())
}
