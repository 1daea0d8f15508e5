//! How anything is watched.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::UnboundedSender;
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::utils::Backoff as _;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::metrics::Metrics;
use super::slim::Set;

/// For how long a watch is asked for. It is begun again where it ended, which costs little; one that has gone silent, because
/// a connection died unnoticed, is given up a few seconds after this time.
const WATCH_SECONDS: u32 = 60;

/// How many objects a list brings at once: while one is read, whole objects are in memory.
const PAGE: u32 = 100;

/// Where to say that a set is to be looked at.
pub(super) type Requeue = UnboundedSender<ObjectRef<Set>>;

/// A task that ends with its handle.
#[derive(Debug)]
pub(super) struct Task(JoinHandle<()>);

impl Task {
    pub(super) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Locks, also after a panic elsewhere: what is kept here is replaced as a whole or not at all.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What can be watched.
pub(super) trait Watched:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
}

impl<K> Watched for K where K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static {}

/// The objects of one namespace, or of all.
pub(super) fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Watches one resource into a store for ever, and passes on every event after the store holds it.
pub(super) fn follow<K: Watched>(
    api: Api<K>,
    trim: fn(&mut K),
    metrics: Arc<Metrics>,
    on_event: impl FnMut(Event<K>) + Send + 'static,
) -> (Store<K>, Task) {
    let (reader, writer) = store();
    let events = events(api, trim).reflect(writer);
    (reader, drive(events, metrics, on_event))
}

/// Watches one resource for ever, and passes on every event.
pub(super) fn observe<K: Watched>(
    api: Api<K>,
    trim: fn(&mut K),
    metrics: Arc<Metrics>,
    on_event: impl FnMut(Event<K>) + Send + 'static,
) -> Task {
    drive(events(api, trim), metrics, on_event)
}

fn events<K: Watched>(
    api: Api<K>,
    trim: fn(&mut K),
) -> impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static {
    let config = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
    watcher(api, config).modify(trim)
}

fn drive<K: Watched>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    metrics: Arc<Metrics>,
    mut on_event: impl FnMut(Event<K>) + Send + 'static,
) -> Task {
    Task::spawn(async move {
        let resource = resource_label::<K>();
        let _open = metrics.watch(resource);
        let mut events = std::pin::pin!(events);
        let mut backoff = DefaultBackoff::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    // That a list is going to be asked for is no success: one that fails is asked for less and less often.
                    if !matches!(event, Event::Init) {
                        backoff.reset();
                    }
                    on_event(event);
                }
                Err(error) => {
                    metrics.watch_error(resource);
                    let pause = backoff.next().unwrap_or_default();
                    tracing::warn!(resource, %error, ?pause, "the watch broke and is begun again");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    })
}

/// Drops all metadata but the name and the namespace.
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
        "StatefulSet" => "statefulsets",
        "ClaimRollout" => "claimrollouts",
        "PersistentVolumeClaim" => "persistentvolumeclaims",
        "LimitRange" => "limitranges",
        "ResourceQuota" => "resourcequotas",
        "StorageClass" => "storageclasses",
        _ => "pods",
    }
}

/// Says that a set is to be looked at. At the end nobody listens any more, and that is well.
pub(super) fn send(requeue: &Requeue, namespace: &str, set: &str) {
    let _ = requeue.unbounded_send(ObjectRef::new(set).within(namespace));
}
