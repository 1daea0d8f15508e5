//! The kube face of decision two: watches, asks [`plan`](crate::rollout::plan()), executes, reports.
//!
//! | file | holds |
//! |---|---|
//! | [`crd`] | ClaimRollout, which users read |
//! | `slim`, `views`, `objects` | the objects of the API, and what the decision reads of them |
//! | `watch`, `namespaces`, `scopes`, `pods`, `unblock`, `obstacles` | what is watched, and when |
//! | `lease`, `lead` | who leads, and what the leader runs |
//! | `context`, `memory` | what every look needs; replies that the watches have not caught up with |
//! | `reconcile`, `settled`, `counted` | one look at one set, or none |
//! | `gather`, `staged_at` | what is seen |
//! | `quotas`, `known_quotas`, `budgets`, `places` | what it must fit into |
//! | `read_events`, `claim_events` | what drivers say of claims that take long |
//! | `writes`, `evict` | what is done |
//! | `act`, `undone` | the writes, and what became of them |
//! | `admission`, `registered` | whether anybody judges who stages a change, and by which settings |
//! | `report`, `status`, `history`, `events` | the reports |
//! | `client` | what every request passes through |
//! | `metrics`, `census`, `health` | the controller's own state |

pub mod crd;
#[cfg(feature = "cli")]
pub(crate) mod objects;

mod act;
mod admission;
mod budgets;
mod census;
mod claim_events;
mod client;
mod context;
mod counted;
mod error;
mod events;
mod evict;
#[cfg(test)]
mod fixtures;
mod gather;
mod health;
mod history;
mod known_quotas;
mod lead;
mod lease;
mod memory;
mod metrics;
mod namespaces;
mod obstacles;
mod places;
mod pods;
mod quotas;
mod read_events;
mod reconcile;
mod registered;
mod report;
mod scopes;
mod settled;
mod slim;
mod staged_at;
mod status;
mod unblock;
mod undone;
mod views;
mod watch;
mod writes;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::channel::oneshot;
use futures::{FutureExt, future};
use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::time::timeout_at;

use lease::{Candidate, Term};

use crate::api::Settings;
use crate::rollout::Seconds;
use crate::templates::MaxInMotion;

pub use admission::WithoutPolicy;
pub use client::Budget;
pub use lease::Election;
pub(crate) use lease::NAME as LEASE;
pub use places::ClassLimits;

/// The field manager of every write.
pub const FIELD_MANAGER: &str = crate::claims::claim::Manager::OURS;

/// A connection on which nothing comes for so long is dead: longer than any answer takes, and than a watch is asked for.
pub const SILENCE: Duration = Duration::from_secs(75);

/// What the time is.
type Clock = fn() -> Seconds;

/// How the controller runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Only sets of this namespace; of all if there is none.
    pub namespace: Option<String>,
    /// How many sets are looked at at the same time.
    pub max_concurrent: u16,
    /// How many replicas of a set are in motion at the same time, where the set does not say.
    pub max_in_motion: MaxInMotion,
    /// What storage classes allow, by name; of most nobody knows.
    pub class_limits: BTreeMap<String, ClassLimits>,
    /// The settings document, the same that the policy has.
    pub settings: Settings,
    /// What becomes of StatefulSets in namespaces for which neither the policy nor the guard is registered.
    pub without_policy: WithoutPolicy,
    /// How several controllers agree who works; none: this one does.
    pub election: Option<Election>,
    /// How much it writes at most.
    pub budget: Budget,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: None,
            max_concurrent: 16,
            max_in_motion: MaxInMotion::default(),
            class_limits: BTreeMap::new(),
            settings: Settings::default(),
            without_policy: WithoutPolicy::default(),
            election: None,
            budget: Budget::DEFAULT,
        }
    }
}

/// Why the controller ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The first list of a resource could not be read, because its watch ended.
    #[error("expected a watch on {0}, but found that it had ended")]
    Watch(&'static str),
    /// The health endpoints could not be served.
    #[error("health endpoints: {0}")]
    Health(#[from] std::io::Error),
}

/// Runs the controller until `shutdown`; `listener` serves `/healthz`, `/readyz` and `/metrics`.
///
/// With an election it first waits for the Lease. Who waits watches nothing and keeps nothing: the lists of thousands of
/// sets are read in a second or two, and a copy of them in every replica would cost memory and watches for ever. Whoever
/// loses the Lease begins nothing more, finishes the writes that are under way while nobody else can hold the Lease, gives up
/// what is still under way then, and waits again.
///
/// After `shutdown` no look is begun, the writes that are under way are waited for, the Lease is given back, and it
/// returns. It may be killed at any time as well: what it knows it reads from the cluster.
///
/// # Errors
/// [`Error`] if it cannot go on. An API server that is away is no error: it is waited for.
pub async fn run(
    config: Config,
    client: Client,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let shutdown = shutdown.shared();
    let health = health::Health::default();
    let term = Term::default();
    let client = client::within(client, config.budget, term.clone(), Arc::clone(&health.metrics));
    let served = tokio::spawn(health::serve(listener, health.clone(), shutdown.clone()));
    match config.election.clone() {
        None => lead::lead(&config, &client, &health, shutdown).await?,
        Some(election) => {
            let candidate = Candidate::new(client.clone(), election, clock, term);
            stand(candidate, &config, &client, &health, shutdown).await?;
        }
    }
    tracing::info!("stopped");
    served.await.map_err(std::io::Error::other)??;
    Ok(())
}

/// Leads whenever it holds the Lease, until `shutdown`.
async fn stand(
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
        tracing::info!("leading");
        let (step_down, stepping_down) = oneshot::channel::<()>();
        let stop = future::select(shutdown.clone().boxed(), stepping_down)
            .map(drop)
            .shared();
        let mut leading = pin!(lead::lead(config, client, health, stop));
        tokio::select! {
            // What is under way is finished under the Lease.
            result = &mut leading => {
                candidate.release().await;
                return result;
            }
            lost = candidate.until_lost() => {
                tracing::warn!(why = lost.why, "leading no more");
                drop(step_down);
                match timeout_at(lost.end, leading).await {
                    Ok(result) => result?,
                    Err(_) => tracing::warn!("what was under way is given up: somebody else may lead by now"),
                }
            }
        }
    }
    candidate.release().await;
    Ok(())
}

/// A time as the API has it; what lies beyond its calendar is its beginning.
fn timestamp(seconds: Seconds) -> Timestamp {
    let seconds = i64::try_from(seconds).ok();
    seconds
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or_default()
}

/// The one place where the time is read: everything else is told.
#[allow(clippy::disallowed_methods, reason = "this is the outermost loop")]
fn clock() -> Seconds {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs()
}
