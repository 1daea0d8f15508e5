//! The controller: watches the cluster, calls [`plan`](crate::rollout::plan()), executes the plan and reports the
//! progress.
//!
//! | file | holds |
//! |---|---|
//! | [`crd`] | the ClaimRollout |
//! | `set_kind`, `slim_set`, `slim_claim`, `slim_pod`, `slim_rollout` | objects of the API, reduced to the fields that are read |
//! | `views`, `objects` | conversion of these objects to the input of the decisions |
//! | `read` | reads whose memory is bounded |
//! | `watch`, `namespaces`, `scopes`, `pods`, `failing` | watches, when each is open, and whether it fails |
//! | `unread_sets` | Events on StatefulSets that cannot be read |
//! | `unblock`, `blockers` | watches on quotas, LimitRanges and StorageClasses that block an apply |
//! | `lease`, `lead` | leader election, and what the leader runs |
//! | `work`, `fair` | which StatefulSet is reconciled next |
//! | `context`, `memory` | shared state, and the state of each StatefulSet between two reconciles |
//! | `reconcile`, `settled`, `counted`, `volumes` | one reconcile, and when none is needed |
//! | `gather`, `staged_before` | the snapshot that a decision reads |
//! | `quotas`, `known_quotas`, `budgets`, `places`, `held`, `shares` | quotas, and the limits of storage classes |
//! | `read_events`, `claim_events` | Events of drivers about slow PVCs |
//! | `writes`, `evict`, `recreating`, `live` | execution of a plan, and what it reads just before |
//! | `retry` | requests of users to try again now |
//! | `api_calls`, `patience`, `locking` | calls of the API, their outcomes, their time limit, and locks |
//! | `undone`, `undone_later` | writes that others changed |
//! | `admission`, `registered`, `kubewarden` | whether the policy or the guard is registered, and with which settings |
//! | `replacing` | replacement of StatefulSets |
//! | `report`, `status`, `last_reports`, `history`, `events` | ClaimRollout, ControllerRevisions, Events |
//! | `client`, `write_budget`, `write_turns` | budget, Lease and metrics of every request |
//! | `config`, `clock` | the configuration, and the time |
//! | `metrics`, `state_metrics`, `families`, `health` | metrics and health endpoints |

pub mod crd;
#[cfg(feature = "cli")]
pub(crate) mod objects;

mod admission;
mod api_calls;
mod blockers;
mod budgets;
mod claim_events;
mod client;
mod clock;
mod config;
mod context;
mod counted;
mod error;
mod events;
mod evict;
mod failing;
mod fair;
mod families;
#[cfg(test)]
mod fixtures;
mod gather;
mod health;
mod held;
mod history;
mod known_quotas;
pub(crate) mod kubewarden;
mod last_reports;
mod lead;
mod lease;
mod live;
mod locking;
mod memory;
mod metrics;
mod namespaces;
mod patience;
mod places;
mod pods;
mod quotas;
pub(crate) mod read;
mod read_events;
mod reconcile;
mod recreating;
mod registered;
mod replacing;
mod report;
mod retry;
mod scopes;
mod set_kind;
mod settled;
mod shares;
mod slim_claim;
mod slim_pod;
mod slim_rollout;
mod slim_set;
mod staged_before;
mod state_metrics;
mod status;
mod unblock;
mod undone;
mod undone_later;
mod unread_sets;
mod views;
mod volumes;
mod watch;
mod work;
mod write_budget;
mod write_turns;
mod writes;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::{FutureExt, future};
use kube::Client;
use tokio::net::TcpListener;
use tokio::time::timeout_at;

use clock::{Clock, clock, clock_millis, timestamp};
use lease::{Candidate, Term};

pub use admission::WithoutPolicy;
pub use api_calls::FIELD_MANAGER;
pub use config::Config;
pub use context::ReCreating;
pub use error::Error;
pub use lease::Election;
#[cfg(feature = "cli")]
pub(crate) use lease::NAME as LEASE;
pub use places::ClassLimits;
#[cfg(fuzzing)]
pub use read::kinds::{FIELDS, read_beside_others};
#[cfg(feature = "cli")]
pub(crate) use replacing::by_hand;
pub use write_budget::WriteBudget;

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
        None => lead::lead(&config, &client, &health, shutdown).await?,
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
        let mut leading = pin!(lead::lead(config, client, health, stop));
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
