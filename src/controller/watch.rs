//! What is watched: sets and ClaimRollouts always; claims and Pods only of namespaces where a rollout is in progress.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::UnboundedSender;
use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::utils::Backoff as _;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::metrics::Metrics;
use super::slim::{Claim, Pod, Set};
use crate::templates::names;

/// For how long a watch is asked for. It is begun again where it ended, which costs little; one that has gone silent, because
/// a connection died unnoticed, is given up a few seconds after this time.
const WATCH_SECONDS: u32 = 60;

/// How many objects a list brings at once: while one is read, whole objects are in memory.
const PAGE: u32 = 100;

/// Where to say that a set is to be looked at.
pub(super) type Wake = UnboundedSender<ObjectRef<Set>>;

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

/// Drops all metadata but the name.
pub(super) fn trim_all<K: Resource>(object: &mut K) {
    let metadata = object.meta_mut();
    *metadata = ObjectMeta {
        name: metadata.name.take(),
        ..ObjectMeta::default()
    };
}

fn resource_label<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::kind(&()).as_ref() {
        "StatefulSet" => "statefulsets",
        "ClaimRollout" => "claimrollouts",
        "PersistentVolumeClaim" => "persistentvolumeclaims",
        "ResourceQuota" => "resourcequotas",
        "StorageClass" => "storageclasses",
        _ => "pods",
    }
}

/// The namespaces whose claims and Pods are watched.
pub(super) struct Namespaces {
    client: Client,
    wake: Wake,
    metrics: Arc<Metrics>,
    open: Mutex<HashMap<String, Arc<Namespace>>>,
}

/// The claims and Pods of one namespace, for as long as a rollout is in progress in it.
pub(super) struct Namespace {
    pub(super) claims: Store<Claim>,
    pub(super) pods: Store<Pod>,
    watchers: Arc<Watchers>,
    _tasks: [Task; 2],
}

/// Who waits for what happens in a namespace.
#[derive(Default)]
struct Watchers {
    /// Names of sets, and of their templates.
    sets: Mutex<BTreeMap<String, Vec<String>>>,
    claims_listed: AtomicBool,
    pods_listed: AtomicBool,
}

impl Namespaces {
    pub(super) fn new(client: Client, wake: Wake, metrics: Arc<Metrics>) -> Self {
        Self {
            client,
            wake,
            metrics,
            open: Mutex::default(),
        }
    }

    /// The claims and Pods of the namespace, watched from now on for this set too.
    pub(super) fn open(&self, namespace: &str, set: &str, templates: Vec<String>) -> Arc<Namespace> {
        let mut open = lock(&self.open);
        let entry = open.entry(namespace.to_owned());
        let watched = entry.or_insert_with(|| {
            tracing::debug!(namespace, "claims and Pods are watched from now on");
            Arc::new(self.begin(namespace))
        });
        lock(&watched.watchers.sets).insert(set.to_owned(), templates);
        Arc::clone(watched)
    }

    /// The set does not need the claims and Pods of its namespace any more.
    pub(super) fn close(&self, namespace: &str, set: &str) {
        let mut open = lock(&self.open);
        let Some(watched) = open.get(namespace) else { return };
        let mut sets = lock(&watched.watchers.sets);
        sets.remove(set);
        let unused = sets.is_empty();
        drop(sets);
        if unused {
            tracing::debug!(namespace, "claims and Pods are not watched any more");
            open.remove(namespace);
        }
    }

    /// Closes for the sets that are not to be kept.
    pub(super) fn retain(&self, keep: impl Fn(&str, &str) -> bool) {
        let mut open = lock(&self.open);
        open.retain(|namespace, watched| {
            let mut sets = lock(&watched.watchers.sets);
            sets.retain(|set, _| keep(namespace, set));
            !sets.is_empty()
        });
    }

    fn begin(&self, namespace: &str) -> Namespace {
        let watchers = Arc::new(Watchers::default());
        let claims = Api::<Claim>::namespaced(self.client.clone(), namespace);
        let (of_claims, wake, name) = (Arc::clone(&watchers), self.wake.clone(), namespace.to_owned());
        let (claims, claims_task) = follow(
            claims,
            |_| {},
            Arc::clone(&self.metrics),
            move |event| match event {
                Event::Init => {}
                Event::InitDone => of_claims.listed(&of_claims.claims_listed, &wake, &name),
                Event::Apply(claim) | Event::InitApply(claim) | Event::Delete(claim) => {
                    of_claims.claim_changed(&claim.name_any(), &wake, &name);
                }
            },
        );
        let pods = Api::<Pod>::namespaced(self.client.clone(), namespace);
        let (of_pods, wake, name) = (Arc::clone(&watchers), self.wake.clone(), namespace.to_owned());
        let (pods, pods_task) = follow(pods, Pod::trim, Arc::clone(&self.metrics), move |event| match event {
            Event::Init => {}
            Event::InitDone => of_pods.listed(&of_pods.pods_listed, &wake, &name),
            Event::Apply(pod) | Event::InitApply(pod) | Event::Delete(pod) => {
                for volume in pod
                    .spec
                    .volumes
                    .iter()
                    .filter_map(|volume| volume.persistent_volume_claim.as_ref())
                {
                    of_pods.claim_changed(&volume.claim_name, &wake, &name);
                }
            }
        });
        Namespace {
            claims,
            pods,
            watchers,
            _tasks: [claims_task, pods_task],
        }
    }
}

impl Namespace {
    /// True iff the first lists have been read. When they are, every set that waits is woken.
    pub(super) fn is_ready(&self) -> bool {
        self.watchers.is_ready()
    }
}

impl Watchers {
    fn is_ready(&self) -> bool {
        self.claims_listed.load(Ordering::Acquire) && self.pods_listed.load(Ordering::Acquire)
    }

    fn listed(&self, which: &AtomicBool, wake: &Wake, namespace: &str) {
        which.store(true, Ordering::Release);
        if self.is_ready() {
            for set in lock(&self.sets).keys() {
                send(wake, namespace, set);
            }
        }
    }

    /// Wakes the sets one of whose claims could have this name.
    fn claim_changed(&self, claim: &str, wake: &Wake, namespace: &str) {
        if !self.is_ready() {
            return;
        }
        let sets = lock(&self.sets);
        let could_have = |(set, templates): &(&String, &Vec<String>)| {
            templates
                .iter()
                .any(|template| names::ordinal_of(claim, template, set).is_some())
        };
        for (set, _) in sets.iter().filter(could_have) {
            send(wake, namespace, set);
        }
    }
}

/// Says that a set is to be looked at. At the end nobody listens any more, and that is well.
pub(super) fn send(wake: &Wake, namespace: &str, set: &str) {
    let _ = wake.unbounded_send(ObjectRef::new(set).within(namespace));
}
