//! Starts watches, and requeues sets.

use std::fmt::Debug;
use std::future::ready;
use std::sync::Arc;

use futures::channel::mpsc::UnboundedSender;
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{Lookup, ObjectRef, Store, reflector, store};
use kube::runtime::utils::Backoff as _;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::failing;
use super::failing::{QUIET, SharedFailing};
use crate::controller::calls::api_calls;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::objects::set::SlimSet;
use crate::controller::read::item::{ListItem, UnreadObject};
use crate::controller::read::lists::PAGE;
use crate::controller::read::unread::UnreadObjects;

/// The duration of a watch. It is restarted where it ended, which is cheap. A watch on a connection that is dead
/// without notice times out a few seconds later.
const WATCH_SECONDS: u32 = 60;

/// The queue of sets to reconcile.
pub(crate) type RequeueSender = UnboundedSender<ObjectRef<SlimSet>>;

/// A task that is aborted when its handle is dropped.
#[derive(Debug)]
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A kind that can be watched.
pub(crate) trait Watched:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
}

impl<K> Watched for K where K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static {}

/// The API of one namespace, or of all.
pub(crate) fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Where a watch counts, and notes that it fails.
pub(crate) struct Noted {
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) failing: SharedFailing,
    pub(crate) unread: Arc<UnreadObjects>,
    /// Receives each object that cannot be read, when that begins.
    pub(crate) skipped: Option<UnboundedSender<Box<UnreadObject>>>,
}

impl From<Arc<ControllerMetrics>> for Noted {
    fn from(metrics: Arc<ControllerMetrics>) -> Self {
        let failing = SharedFailing::default();
        Self {
            metrics,
            failing,
            unread: Arc::default(),
            skipped: None,
        }
    }
}

/// Watches one resource into a store, in which it is kept as `read` returns it, and passes on every event after the store
/// contains it.
pub(crate) fn follow<S: Watched, K>(
    api: Api<ListItem<S>>,
    read: fn(S) -> K,
    noted: impl Into<Noted>,
    on_event: impl FnMut(Event<K>) + Send + 'static,
) -> (Store<K>, Task)
where
    K: Lookup<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let (reader, writer) = store();
    let (resource, noted) = (resource_label::<S>(), noted.into());
    let converted = move |event| match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(read(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(read(object)),
        Event::Delete(object) => Event::Delete(read(object)),
    };
    let events = events(api, resource, &noted).map(move |event| event.map(converted));
    let events = reflector(writer, events);
    (reader, drive(events, resource, noted, on_event))
}

/// Watches one resource, and passes on every event with the trimmed object.
pub(crate) fn observe<K: Watched>(
    api: Api<ListItem<K>>,
    trim: fn(&mut K),
    noted: impl Into<Noted>,
    on_event: impl FnMut(Event<K>) + Send + 'static,
) -> Task {
    let (resource, noted) = (resource_label::<K>(), noted.into());
    let events = events(api, resource, &noted).modify(trim);
    drive(events, resource, noted, on_event)
}

/// The events of a watch. What cannot be read is kept apart.
fn events<K: Watched>(
    api: Api<ListItem<K>>,
    resource: &'static str,
    noted: &Noted,
) -> impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static + use<K> {
    let (counted, unread) = (noted.metrics.unreadable(resource), Arc::clone(&noted.unread));
    let skipped = noted.skipped.clone();
    let read = move |event| {
        let seen = unread.note(event);
        counted.set(unread.len());
        if let Some(object) = seen.unread {
            let ((namespace, name), why) = (object.key(), &object.why);
            tracing::warn!(resource, namespace, name, why, "skipped an object that cannot be read");
            // During the shutdown nobody receives any more.
            let _ = skipped.as_ref().map(|skipped| skipped.unbounded_send(object));
        }
        seen.event
    };
    let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
    watcher(api, config).filter_map(move |event| ready(event.map(&read).transpose()))
}

fn drive<K: Send + 'static>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    resource: &'static str,
    Noted { metrics, failing, .. }: Noted,
    mut on_event: impl FnMut(Event<K>) + Send + 'static,
) -> Task {
    Task::spawn(async move {
        let mut open = metrics.watch(resource);
        let mut events = std::pin::pin!(events);
        let mut backoff = DefaultBackoff::default();
        loop {
            let was_failing = lock(&failing).is_failing();
            let next = if was_failing {
                timeout(QUIET, events.next()).await
            } else {
                Ok(events.next().await)
            };
            // The start of a list is no success, nor is one of its pages: the backoff of a failing list continues.
            if !matches!(next, Ok(None | Some(Err(_) | Ok(Event::Init | Event::InitApply(_))))) {
                backoff.reset();
                lock(&failing).succeeded();
                open.set_failing(false);
            }
            match next {
                Ok(None) => break,
                Err(_) => {}
                Ok(Some(Ok(event))) => {
                    if was_failing {
                        lock(&failing).lists(Instant::now());
                    }
                    on_event(event);
                }
                Ok(Some(Err(error))) => {
                    metrics.watch_error(resource);
                    open.set_failing(note(&failing, &error));
                    let pause = backoff.next().unwrap_or_default();
                    let error = failure(&error);
                    tracing::warn!(resource, error, ?pause, "watch failed, restarting");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    })
}

/// The message of a failed watch.
fn failure(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error) => format!("failed to list: {}", api_calls::text(error)),
        watcher::Error::WatchStartFailed(error) => format!("failed to start: {}", api_calls::text(error)),
        watcher::Error::WatchFailed(error) => api_calls::text(error),
        error => error.to_string(),
    }
}

/// Notes a failure. True iff reads have failed for a minute.
fn note(failing: &SharedFailing, error: &watcher::Error) -> bool {
    let (mut failing, now) = (lock(failing), Instant::now());
    failing.failed(failing::of_watch(error), now);
    failing.reported(now).is_some()
}

/// Drops all metadata except the name and the namespace.
pub(super) fn trim_all<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    *metadata = ObjectMeta {
        name: metadata.name.take(),
        namespace: metadata.namespace.take(),
        ..ObjectMeta::default()
    };
}

fn resource_label<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::kind(&()).as_ref() {
        "StatefulSet" if K::group(&()) == "apps.kruise.io" => "statefulsets.apps.kruise.io",
        "StatefulSet" => "statefulsets",
        "ClaimRollout" => "claimrollouts",
        "PersistentVolumeClaim" => "persistentvolumeclaims",
        "LimitRange" => "limitranges",
        "ResourceQuota" => "resourcequotas",
        "StorageClass" => "storageclasses",
        _ => "pods",
    }
}

/// Requeues a set. The error is ignored: during the shutdown nobody receives any more.
pub(crate) fn send(requeue: &RequeueSender, namespace: &str, set: &str) {
    let _ = requeue.unbounded_send(ObjectRef::new(set).within(namespace));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::stream;

    use super::{Arc, Event, Instant, Noted, drive, lock};
    use crate::controller::metrics::controller::ControllerMetrics;

    /// Each attempt to list tens of thousands of objects takes minutes, and then the list has expired.
    #[tokio::test]
    async fn list_that_always_expires_is_reported() {
        for (what, events, expected) in [
            ("nothing", vec![], None),
            ("a page", vec![Event::Init, Event::InitApply(())], Some("410 a")),
            ("the whole list", vec![Event::Init, Event::InitDone], None),
        ] {
            let noted = Noted::from(Arc::<ControllerMetrics>::default());
            let (failing, now) = (Arc::clone(&noted.failing), Instant::now());
            let [before, after] = [now - Duration::from_secs(100), now + Duration::from_secs(100)];
            lock(&failing).failed("410 a".to_owned(), before);
            let events = stream::iter(events.into_iter().map(Ok));
            let mut task = drive(events, "pods", noted, |_| {});
            (&mut task.0).await.expect("an end");
            lock(&failing).failed("410 a".to_owned(), after);
            assert_eq!(lock(&failing).reported(after), expected, "{what}");
        }
    }
}
