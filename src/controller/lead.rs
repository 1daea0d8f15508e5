//! What the leader runs: the watches, the queue, and the looks at sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::mpsc;
use futures::{FutureExt, StreamExt};
use kube::runtime::controller::{Config as Concurrency, Error as QueueError, applier};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};

use super::admission::Admission;
use super::claim_events::Pace;
use super::context::{Context, Memories};
use super::crd::ClaimRollout;
use super::error::ReconcileError;
use super::health::Health;
use super::known_quotas::Shared;
use super::namespaces::Namespaces;
use super::places::Places;
use super::reconcile;
use super::slim::Set;
use super::unblock::Unblock;
use super::watch::{self, Requeue};
use super::{Config, Error, clock};

/// Leads until `stop`. Then no look is begun any more, and the writes that are under way are waited for.
///
/// # Errors
/// [`Error`] if it cannot go on.
pub(super) async fn lead(
    config: &Config,
    client: &Client,
    health: &Health,
    stop: impl Future<Output = ()> + Clone + Send + 'static,
) -> Result<(), Error> {
    let metrics = Arc::clone(&health.metrics);
    let (requeue, queued) = mpsc::unbounded();
    let (forget, forgotten) = mpsc::unbounded();

    let sets = watch::api::<Set>(client, config.namespace.as_deref());
    let (sets, _sets_task) = watch::follow(sets, |_| {}, Arc::clone(&metrics), set_changed(requeue.clone(), forget));
    let rollouts = watch::api::<ClaimRollout>(client, config.namespace.as_deref());
    let changed = rollout_changed(requeue.clone(), sets.clone());
    let (rollouts, _rollouts_task) = watch::follow(rollouts, trim, Arc::clone(&metrics), changed);
    let _leading = health.leading(rollouts.clone());

    let settings = Arc::new(config.settings.clone());
    let stopping = Arc::new(AtomicBool::new(false));
    let context = Arc::new(Context {
        client: client.clone(),
        clock,
        settings: Arc::clone(&settings),
        max_in_motion: config.max_in_motion,
        places: Places::new(config.class_limits.clone()),
        admission: Admission::new(
            client.clone(),
            settings,
            config.namespace.clone(),
            config.without_policy,
            Arc::clone(&metrics),
        ),
        sets: sets.clone(),
        rollouts: rollouts.clone(),
        namespaces: Namespaces::new(client.clone(), requeue.clone(), clock, Arc::clone(&metrics)),
        questions: Pace::default(),
        quota_lists: Shared::default(),
        unblock: Unblock::new(client.clone(), requeue, Arc::clone(&metrics)),
        metrics,
        memories: Memories::default(),
        stopping: Arc::clone(&stopping),
    });
    let _forget_task = watch::Task::spawn(forget_sets(Arc::clone(&context), forgotten));

    // What was reported is read before anything is decided, or it would be said again.
    tokio::select! {
        lists = first_lists(&context) => lists?,
        () = stop.clone() => return Ok(()),
    }
    health.set_ready();
    tracing::info!(
        sets = sets.len(),
        rollouts = rollouts.len(),
        "the first lists have been read"
    );

    let watched = Arc::clone(&context);
    let _admission_task = watch::Task::spawn(async move { watched.admission.begin().await });

    let stop = stop.inspect(move |()| stopping.store(true, Ordering::Release));
    let queue = queued
        .map(Ok::<ObjectRef<Set>, std::convert::Infallible>)
        .take_until(stop);
    let concurrency = Concurrency::default().concurrency(config.max_concurrent);
    applier(run, reconcile::after_failure, context, sets, queue, concurrency)
        .for_each(async |reconciled| log(reconciled))
        .await;
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
fn log<T>(reconciled: Result<T, QueueError<ReconcileError, std::convert::Infallible>>) {
    if let Err(error @ (QueueError::QueueError(_) | QueueError::RunnerError(_))) = reconciled {
        tracing::error!(%error, "the queue broke");
    }
}

fn run(
    set: Arc<Set>,
    context: Arc<Context>,
) -> futures::future::BoxFuture<'static, Result<kube::runtime::controller::Action, ReconcileError>> {
    reconcile::reconcile(set, context).boxed()
}

/// Every change of a set is looked at; what was known of one that is gone is forgotten.
fn set_changed(requeue: Requeue, forget: mpsc::UnboundedSender<Forget>) -> impl FnMut(Event<Set>) + Send + 'static {
    // At the end nobody listens any more, and that is well.
    move |event| match event {
        Event::Init => {}
        Event::InitDone => _ = forget.unbounded_send(Forget::Unlisted),
        Event::Apply(set) | Event::InitApply(set) => {
            watch::send(&requeue, &set.namespace().unwrap_or_default(), &set.name_any());
        }
        Event::Delete(set) => _ = forget.unbounded_send(Forget::Set(Box::new(set))),
    }
}

/// A ClaimRollout that somebody changed or deleted is written again.
fn rollout_changed(requeue: Requeue, sets: Store<Set>) -> impl FnMut(Event<ClaimRollout>) + Send + 'static {
    move |event| match event {
        Event::Init | Event::InitApply(_) => {}
        // What was deleted while the watch was broken is not in the new list. Of each set it is known what was reported.
        Event::InitDone => {
            for set in sets.state() {
                watch::send(&requeue, &set.namespace().unwrap_or_default(), &set.name_any());
            }
        }
        Event::Apply(rollout) | Event::Delete(rollout) => {
            watch::send(
                &requeue,
                &rollout.namespace().unwrap_or_default(),
                &rollout.spec.set_ref.name,
            );
        }
    }
}

/// Drops the metadata that is not read, and room that nothing will take: there are thousands.
fn trim(rollout: &mut ClaimRollout) {
    rollout.metadata.managed_fields = None;
    if let Some(owners) = &mut rollout.metadata.owner_references {
        owners.shrink_to_fit();
    }
    rollout.spec.templates.shrink_to_fit();
    if let Some(status) = &mut rollout.status {
        status.volume_claim_templates.shrink_to_fit();
        status.claims.shrink_to_fit();
        status.conditions.shrink_to_fit();
    }
}

#[cfg(test)]
#[path = "lead_tests.rs"]
mod tests;
