//! The controller, from its start to its end: it waits for the Lease, leads, and steps down.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::{FutureExt, future};
use kube::Client;
use tokio::net::TcpListener;
use tokio::time::timeout_at;

use super::config::Config;
use super::error::Error;
use super::lease::{Candidate, Term};
use super::{client, health, leader};
use crate::controller::clock::clock;

/// The read timeout of a connection. It is longer than any response takes, and longer than a watch lasts.
pub const SILENCE: Duration = Duration::from_secs(75);

/// Runs the controller until `shutdown`; `listener` serves `/healthz`, `/readyz` and `/metrics`.
///
/// With an election the controller first waits for the Lease. Meanwhile it watches nothing: the lists of thousands of
/// StatefulSets take a second or two, and a copy of them in every replica would cost memory and watches all the time.
/// A controller that loses the Lease starts no further reconcile, finishes pending writes while no other controller
/// can hold the Lease, aborts the rest, and waits for the Lease again.
///
/// After `shutdown` the controller starts no further reconcile, waits for pending writes, releases the Lease and
/// returns. It may also be killed at any time: all of its state can be read from the cluster.
///
/// # Errors
/// [`Error`] if the controller cannot continue. It waits for an API server that does not respond.
pub async fn run(
    config: Config,
    client: Client,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let shutdown = shutdown.shared();
    let health = health::Health::default();
    let term = Term::default();
    let client = client::within(
        client,
        (config.budget, client::RESPONSE_TIMEOUT),
        term.clone(),
        Arc::clone(&health.metrics),
    );
    let served = tokio::spawn(health::serve(listener, health.clone(), shutdown.clone()));
    match config.election.clone() {
        None => leader::lead(&config, &client, &health, shutdown).await?,
        Some(election) => {
            let candidate = Candidate::new(client.clone(), election, clock, term);
            run_for_leader(candidate, &config, &client, &health, shutdown).await?;
        }
    }
    tracing::info!("stopped");
    served.await.map_err(std::io::Error::other)??;
    Ok(())
}

/// Leads whenever the candidate holds the Lease, until `shutdown`.
async fn run_for_leader(
    mut candidate: Candidate,
    config: &Config,
    client: &Client,
    health: &health::Health,
    shutdown: impl Future<Output = ()> + Clone + Send + 'static,
) -> Result<(), Error> {
    loop {
        tokio::select! {
            () = candidate.until_it_leads(|| health.set_ready()) => {}
            () = shutdown.clone() => break,
        }
        tracing::info!("acquired leader election; started");
        let (step_down, stepping_down) = oneshot::channel::<()>();
        let stop = future::select(shutdown.clone().boxed(), stepping_down)
            .map(drop)
            .shared();
        let mut leading = pin!(leader::lead(config, client, health, stop));
        tokio::select! {
            // Pending writes finish while we hold the Lease.
            result = &mut leading => {
                candidate.release().await;
                return result;
            }
            lost = candidate.until_lost() => {
                tracing::warn!(why = lost.why, "lost leader election; stopping writes");
                drop(step_down);
                match timeout_at(lost.end, leading).await {
                    Ok(result) => result?,
                    Err(_) => tracing::warn!("aborted pending writes: another controller may lead by now"),
                }
            }
        }
    }
    candidate.release().await;
    Ok(())
}
