//! The leader: the watches, the queue and the reconciles.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::channel::mpsc;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, future};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use tokio::time::{Instant, sleep_until};

use super::config::Config;
use super::error::Error;
use super::health::Health;
use super::parts::CommonParts;
use super::work::Work;
use crate::controller::calls::caller::Caller;
use crate::controller::clock::clock;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set::{KruiseSet, SlimSet};
use crate::controller::objects::set_kind::SetKind;
use crate::controller::reconcile::context::Context;
use crate::controller::reconcile::shell;
use crate::controller::replacing::cluster::SetName;
use crate::controller::report::unread_sets;
use crate::controller::watch::cache::WatchCache;
use crate::controller::watch::streams;
use crate::controller::watch::streams::{Noted, RequeueSender};

/// The watched StatefulSets of one kind, and their queues.
struct WatchedSets {
    sets: Store<SlimSet>,
    requeue: RequeueSender,
    queued: mpsc::UnboundedReceiver<ObjectRef<SlimSet>>,
    forgotten: mpsc::UnboundedReceiver<Forget>,
    _tasks: [streams::Task; 2],
}

impl WatchedSets {
    /// Starts the watch.
    fn of(kind: SetKind, config: &Config, caller: &Caller) -> Self {
        let (requeue, queued) = mpsc::unbounded();
        let (forget, forgotten) = mpsc::unbounded();
        let changed = set_changed(requeue.clone(), forget);
        let (namespace, client) = (config.namespace.as_deref(), &caller.client);
        let (skipped, unread) = mpsc::unbounded();
        let reporting = streams::Task::spawn(unread_sets::report(kind, caller.clone(), unread));
        let noted = Noted {
            skipped: Some(skipped),
            ..Noted::from(Arc::clone(&caller.metrics))
        };
        let (sets, task) = match kind {
            SetKind::Apps => streams::follow(streams::api(client, namespace), |set| set, noted, changed),
            SetKind::OpenKruise => {
                streams::follow(streams::api(client, namespace), |KruiseSet(set)| set, noted, changed)
            }
        };
        Self {
            sets,
            requeue,
            queued,
            forgotten,
            _tasks: [task, reporting],
        }
    }
}

/// Leads until `stop`. After that it starts no further reconcile, and waits for pending writes.
///
/// # Errors
/// [`Error`] if the leader cannot continue.
pub(crate) async fn lead(
    config: &Config,
    client: &Client,
    health: &Health,
    stop: impl Future<Output = ()> + Clone + Send + 'static,
) -> Result<(), Error> {
    let caller = Caller {
        client: client.clone(),
        clock,
        metrics: Arc::clone(&health.metrics),
    };
    let apps = WatchedSets::of(SetKind::Apps, config, &caller);
    let kruise = config
        .openkruise
        .then(|| WatchedSets::of(SetKind::OpenKruise, config, &caller));
    let kinds = [Some(&apps), kruise.as_ref()].into_iter().flatten();
    let changed = rollout_changed(kinds.map(|kind| (kind.requeue.clone(), kind.sets.clone())).collect());
    let rollouts = streams::api(client, config.namespace.as_deref());
    let packed = |SlimRollout(rollout)| PackedRollout::of(&rollout);
    let (rollouts, _rollouts_task) = streams::follow(rollouts, packed, Arc::clone(&health.metrics), changed);
    let _leading = health.leading(rollouts.clone());

    let common = CommonParts::new(config, caller, rollouts);
    let context = |kind: &WatchedSets, other: Option<&WatchedSets>| {
        let others = other.map(|other| other.sets.clone());
        Arc::new(common.context(config, kind.sets.clone(), others, kind.requeue.clone()))
    };
    let of_apps = context(&apps, kruise.as_ref());
    let of_kruise = kruise.as_ref().map(|kruise| context(kruise, Some(&apps)));
    let stopping = Arc::clone(&common.stopping);
    let stop = stop.inspect(move |()| stopping.store(true, Ordering::Release)).shared();
    let led = lead_apps(config, health, (apps, of_apps), stop.clone());
    match kruise.zip(of_kruise) {
        None => led.await,
        Some(kruise) => {
            let both = future::try_join(led, lead_kruise(config, kruise, stop));
            both.await.map(|((), ())| ())
        }
    }
}

/// Rolls out to the PVCs of the StatefulSets of Kubernetes, and replaces them.
async fn lead_apps(
    config: &Config,
    health: &Health,
    (watched, context): (WatchedSets, Arc<Context>),
    stop: impl Future<Output = ()> + Clone + Send + 'static,
) -> Result<(), Error> {
    if !is_listed(&context.observer.cache, stop.clone()).await? {
        return Ok(());
    }
    health.set_ready();
    let cache = &context.observer.cache;
    let (sets, rollouts) = (cache.sets.len(), cache.rollouts.len());
    tracing::info!(sets, rollouts, "read the first lists");

    let admission = Arc::clone(&context.admission);
    let _admission_task = streams::Task::spawn(async move { admission.begin().await });

    let resumed = Arc::clone(&context.replacements).resume(config.namespace.clone());
    let _resume_task = streams::Task::spawn(resumed);
    let _journal_task = streams::Task::spawn(Arc::clone(&context.replacements).report_refused_journals());

    reconcile_all(config, watched, &context, stop).await;
    context.replacements.finish().await;
    Ok(())
}

/// Rolls out to the PVCs of the StatefulSets of OpenKruise. Until their kind is served, it waits.
async fn lead_kruise(
    config: &Config,
    (watched, context): (WatchedSets, Arc<Context>),
    stop: impl Future<Output = ()> + Clone + Send + 'static,
) -> Result<(), Error> {
    if !is_listed(&context.observer.cache, stop.clone()).await? {
        return Ok(());
    }
    tracing::info!(
        sets = context.observer.cache.sets.len(),
        "read the first list of OpenKruise's StatefulSets"
    );
    reconcile_all(config, watched, &context, stop).await;
    Ok(())
}

/// Reconciles the sets of one kind until `stop`.
async fn reconcile_all(
    config: &Config,
    watched: WatchedSets,
    context: &Arc<Context>,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let _forget_task = streams::Task::spawn(forget_sets(Arc::clone(context), watched.forgotten));
    let mut changed = pin!(watched.queued.take_until(stop));
    let (mut work, mut running) = (Work::new(config.max_concurrent.into()), FuturesUnordered::new());
    let mut stops = false;
    while !stops || !running.is_empty() {
        while !stops && let Some(set) = work.next(Instant::now()) {
            running.push(reconcile_next(set, Arc::clone(context)).boxed());
        }
        let due = work.due();
        tokio::select! {
            set = changed.next(), if !stops => match set {
                Some(set) => work.changed(SetName::new(set.namespace.unwrap_or_default(), set.name)),
                None => stops = true,
            },
            Some((set, after)) = running.next() => work.done(set, after, Instant::now()),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if !stops && due.is_some() => {}
        }
    }
}

/// Reconciles a set as it is now, unless it was deleted. Returns when to reconcile it again.
async fn reconcile_next(set: Arc<SetName>, context: Arc<Context>) -> (Arc<SetName>, Option<Duration>) {
    let at = ObjectRef::new(&set.name).within(&set.namespace);
    let Some(seen) = context.observer.cache.sets.get(&at) else {
        return (set, None);
    };
    let reconciled = shell::reconcile(Arc::clone(&seen), Arc::clone(&context)).await;
    let after = reconciled.unwrap_or_else(|error| Some(shell::after_failure(&seen, &error, &context)));
    (set, after)
}

/// How long the first reconcile waits for the reports. Without their definition, their list fails for ever.
const REPORTS: Duration = Duration::from_secs(60);

/// Waits for the first lists; false if `stop` comes first. Reports are read before the first decision. Otherwise the same
/// Events would be emitted again.
async fn is_listed(cache: &WatchCache, stop: impl Future<Output = ()> + Send) -> Result<bool, Error> {
    tokio::select! {
        lists = first_lists(cache, REPORTS) => lists.map(|()| true),
        () = stop => Ok(false),
    }
}

/// Waits until the first lists are complete. No write depends on the reports, so they are waited for only this long.
async fn first_lists(cache: &WatchCache, reports: Duration) -> Result<(), Error> {
    cache
        .sets
        .wait_until_ready()
        .await
        .map_err(|_| Error::Watch("statefulsets"))?;
    match tokio::time::timeout(reports, cache.rollouts.wait_until_ready()).await {
        Ok(listed) => listed.map_err(|_| Error::Watch("claimrollouts")),
        Err(_) => {
            tracing::warn!("failed to list the ClaimRollouts, continuing without them: Events may be emitted again");
            Ok(())
        }
    }
}

/// The sets to forget.
enum Forget {
    /// This set, which was deleted.
    Set(Box<SlimSet>),
    /// The sets that a new list does not contain.
    Unlisted,
}

async fn forget_sets(context: Arc<Context>, mut forgotten: mpsc::UnboundedReceiver<Forget>) {
    while let Some(forget) = forgotten.next().await {
        match forget {
            Forget::Set(set) => context.observer.forget_deleted(&set),
            Forget::Unlisted => context.prune(),
        }
    }
}

/// Requeues a set that changed, and forgets one that was deleted.
fn set_changed(
    requeue: RequeueSender,
    forget: mpsc::UnboundedSender<Forget>,
) -> impl FnMut(Event<SlimSet>) + Send + 'static {
    // During the shutdown nobody receives any more; the results are ignored.
    move |event| match event {
        Event::Init => {}
        Event::InitDone => _ = forget.unbounded_send(Forget::Unlisted),
        Event::Apply(set) | Event::InitApply(set) => {
            streams::send(&requeue, &set.namespace().unwrap_or_default(), &set.name_any());
        }
        Event::Delete(set) => _ = forget.unbounded_send(Forget::Set(Box::new(set))),
    }
}

/// Requeues the set of a ClaimRollout that somebody changed or deleted, so that it is written again. `kinds` are the
/// queues and the sets of each kind.
fn rollout_changed(kinds: Vec<(RequeueSender, Store<SlimSet>)>) -> impl FnMut(Event<PackedRollout>) + Send + 'static {
    move |event| {
        for (requeue, sets) in &kinds {
            match &event {
                Event::Init | Event::InitApply(_) => {}
                // The new list does not contain ClaimRollouts that were deleted while the watch was broken.
                Event::InitDone => {
                    for set in sets.state() {
                        streams::send(requeue, &set.namespace().unwrap_or_default(), &set.name_any());
                    }
                }
                Event::Apply(rollout) | Event::Delete(rollout) => {
                    streams::send(requeue, &rollout.namespace, &rollout.name);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "leader_tests.rs"]
mod tests;
