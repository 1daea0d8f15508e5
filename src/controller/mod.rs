//! The kube face of decision two: watches, asks [`plan`](crate::rollout::plan()), executes, reports.
//!
//! | file | holds |
//! |---|---|
//! | [`crd`] | ClaimRollout, which users read |
//! | `slim`, `views`, `objects` | the objects of the API, and what the decision reads of them |
//! | `watch` | what is watched, and when |
//! | `reconcile`, `gather` | one look at one set, and what is seen |
//! | `act` | the writes, and what became of them |
//! | `memory` | replies that the watches have not caught up with |
//! | `status`, `events` | the reports |
//! | `metrics`, `health` | the controller's own state |

pub mod crd;
#[cfg(feature = "cli")]
pub(crate) mod objects;

mod act;
mod events;
mod gather;
mod health;
mod memory;
mod metrics;
mod reconcile;
mod slim;
mod status;
mod views;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::channel::mpsc;
use futures::{FutureExt, StreamExt};
use kube::runtime::controller::{Config as Concurrency, Error as QueueError, applier};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt};
use tokio::net::TcpListener;

use crd::ClaimRollout;
use metrics::Metrics;
use reconcile::{Context, Memories};
use slim::Set;
use watch::{Namespaces, Wake};

use crate::rollout::{Honoured, Seconds};

/// The field manager of every write.
pub const FIELD_MANAGER: &str = "claim-rollout";

/// What the time is.
type Clock = fn() -> Seconds;

/// How the controller runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Only sets of this namespace; of all if there is none.
    pub namespace: Option<String>,
    /// How many sets are looked at at the same time.
    pub max_concurrent: u16,
    /// What the policy's settings let through.
    pub honoured: Honoured,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: None,
            max_concurrent: 16,
            honoured: Honoured::default(),
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
/// After `shutdown` no look is begun, the writes that are under way are waited for, and it returns. It may be killed at
/// any time as well: what it knows it reads from the cluster.
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
    let metrics = Arc::new(Metrics::default());
    let (wake, woken) = mpsc::unbounded();
    let (forget, forgotten) = mpsc::unbounded();

    let sets = api::<Set>(&client, config.namespace.as_deref());
    let (sets, _sets_task) = watch::follow(sets, Set::trim, Arc::clone(&metrics), set_changed(wake.clone(), forget));
    let rollouts = api::<ClaimRollout>(&client, config.namespace.as_deref());
    let (rollouts, _rollouts_task) = watch::follow(rollouts, trim, Arc::clone(&metrics), rollout_changed(wake.clone()));

    let ready = Arc::new(AtomicBool::new(false));
    let health = health::Health {
        metrics: Arc::clone(&metrics),
        rollouts: rollouts.clone(),
        ready: Arc::clone(&ready),
    };
    let health = tokio::spawn(health::serve(listener, health, shutdown.clone()));

    let stopping = Arc::new(AtomicBool::new(false));
    let context = Arc::new(Context {
        client: client.clone(),
        clock,
        honoured: Arc::new(config.honoured),
        sets: sets.clone(),
        rollouts: rollouts.clone(),
        namespaces: Namespaces::new(client, wake, Arc::clone(&metrics)),
        metrics,
        memories: Memories::default(),
        stopping: Arc::clone(&stopping),
    });
    let _forget_task = watch::Task::spawn(forget_sets(Arc::clone(&context), forgotten));

    // What was reported is read before anything is decided, or it would be said again.
    tokio::select! {
        lists = first_lists(&context) => lists?,
        () = shutdown.clone() => return Ok(()),
    }
    ready.store(true, Ordering::Release);
    tracing::info!(
        sets = sets.len(),
        rollouts = rollouts.len(),
        "the first lists have been read"
    );

    let stop = shutdown
        .clone()
        .inspect(move |()| stopping.store(true, Ordering::Release));
    let queue = woken
        .map(Ok::<ObjectRef<Set>, std::convert::Infallible>)
        .take_until(stop);
    let concurrency = Concurrency::default().concurrency(config.max_concurrent);
    applier(look, reconcile::after_failure, context, sets, queue, concurrency)
        .for_each(async |looked| log(looked))
        .await;
    tracing::info!("stopped");
    health.await.map_err(std::io::Error::other)??;
    Ok(())
}

/// Waits until the first lists have been read.
async fn first_lists(context: &Context) -> Result<(), Error> {
    context
        .sets
        .wait_until_ready()
        .await
        .map_err(|_| Error::Watch("statefulsets"))?;
    context
        .rollouts
        .wait_until_ready()
        .await
        .map_err(|_| Error::Watch("claimrollouts"))
}

/// What is to be forgotten.
enum Forget {
    /// What was known of this set, which is gone.
    Set(Box<Set>),
    /// What was known of sets that are not in a new list.
    Unlisted,
}

async fn forget_sets(context: Arc<Context>, mut forgotten: mpsc::UnboundedReceiver<Forget>) {
    while let Some(forget) = forgotten.next().await {
        match forget {
            Forget::Set(set) => context.leave(&set),
            Forget::Unlisted => context.prune(),
        }
    }
}

/// A set that was deleted before its turn is no error, and failed looks have been logged.
fn log<T>(looked: Result<T, QueueError<reconcile::LookError, std::convert::Infallible>>) {
    if let Err(error @ (QueueError::QueueError(_) | QueueError::RunnerError(_))) = looked {
        tracing::error!(%error, "the queue broke");
    }
}

fn look(
    set: Arc<Set>,
    context: Arc<Context>,
) -> futures::future::BoxFuture<'static, Result<kube::runtime::controller::Action, reconcile::LookError>> {
    reconcile::reconcile(set, context).boxed()
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Every change of a set is looked at; what was known of one that is gone is forgotten.
fn set_changed(wake: Wake, forget: mpsc::UnboundedSender<Forget>) -> impl FnMut(Event<Set>) + Send + 'static {
    // At the end nobody listens any more, and that is well.
    move |event| match event {
        Event::Init => {}
        Event::InitDone => _ = forget.unbounded_send(Forget::Unlisted),
        Event::Apply(set) | Event::InitApply(set) => {
            watch::send(&wake, &set.namespace().unwrap_or_default(), &set.name_any());
        }
        Event::Delete(set) => _ = forget.unbounded_send(Forget::Set(Box::new(set))),
    }
}

/// A ClaimRollout that somebody changed or deleted is written again.
fn rollout_changed(wake: Wake) -> impl FnMut(Event<ClaimRollout>) + Send + 'static {
    move |event| match event {
        Event::Init | Event::InitDone | Event::InitApply(_) => {}
        Event::Apply(rollout) | Event::Delete(rollout) => {
            watch::send(
                &wake,
                &rollout.namespace().unwrap_or_default(),
                &rollout.spec.set_ref.name,
            );
        }
    }
}

fn trim(rollout: &mut ClaimRollout) {
    rollout.metadata.managed_fields = None;
}

/// The one place where the time is read: everything else is told.
#[allow(clippy::disallowed_methods, reason = "this is the outermost loop")]
fn clock() -> Seconds {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs()
}
