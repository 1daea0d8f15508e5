//! The claims and Pods of namespaces with a rollout in progress; through which watches they are seen, [`scopes`](super::scopes)
//! says.
//!
//! A start and a failover with thousands of rollouts that are complete open no watch at all. With thousands in progress at most
//! [`MOST`](super::scopes::MOST) namespaces are listed and watched each by itself, and the whole cluster once.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::runtime::reflector::Store;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};

use super::Clock;
use super::metrics::Metrics;
use super::pods::Pods;
use super::scopes::{LINGER, Scopes};
use super::slim::{Claim, Pod};
use super::watch::{Requeue, Task, api, follow, lock, observe, send};

/// How often it is asked what has been open for nobody for too long.
const SWEEP: Duration = Duration::from_secs(LINGER / 6);

/// The namespaces whose claims and Pods are watched.
pub(super) struct Namespaces {
    client: Client,
    requeue: Requeue,
    clock: Clock,
    metrics: Arc<Metrics>,
    open: Arc<Mutex<Open>>,
    _sweeping: Task,
}

type Open = Scopes<Arc<Namespace>>;

/// The claims and Pods of one namespace, or of all.
pub(super) struct Namespace {
    pub(super) claims: Store<Claim>,
    pub(super) pods: Arc<Pods>,
    listed: Arc<Listed>,
    _tasks: [Task; 2],
}

/// Of which of the two the first list has been read.
#[derive(Default)]
struct Listed(AtomicU8);

impl Listed {
    const CLAIMS: u8 = 1;
    const PODS: u8 = 2;

    fn both(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::CLAIMS | Self::PODS
    }

    /// One of them has been; true iff both have.
    fn note(&self, which: u8) -> bool {
        self.0.fetch_or(which, Ordering::AcqRel);
        self.both()
    }
}

impl Namespaces {
    pub(super) fn new(client: Client, requeue: Requeue, clock: Clock, metrics: Arc<Metrics>) -> Self {
        let open = Arc::new(Mutex::new(Open::default()));
        let swept = Arc::clone(&open);
        let sweeping = Task::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                lock(&swept).close_unused(clock());
            }
        });
        Self {
            client,
            requeue,
            clock,
            metrics,
            open,
            _sweeping: sweeping,
        }
    }

    /// The claims and Pods of the namespace, watched from now on for the set of this namespace, name and uid too.
    pub(super) fn open(&self, set: [&str; 3], templates: Vec<String>) -> Arc<Namespace> {
        lock(&self.open).enter(set, templates, |namespace| {
            let from = namespace.unwrap_or("all namespaces");
            tracing::debug!(from, "claims and Pods are watched from now on");
            Arc::new(self.begin(namespace))
        })
    }

    /// The set of this namespace, name and uid does not need claims and Pods any more.
    pub(super) fn close(&self, set: [&str; 3]) {
        lock(&self.open).leave(set, (self.clock)());
    }

    /// Only sets of these uids still need them.
    pub(super) fn keep(&self, there: impl Fn(&str) -> bool) {
        lock(&self.open).keep(there, (self.clock)());
    }

    fn begin(&self, namespace: Option<&str>) -> Namespace {
        let (listed, pods) = (Arc::<Listed>::default(), Arc::<Pods>::default());
        let metrics = || Arc::clone(&self.metrics);
        let of_claims = self.rouse(namespace, &listed, Listed::CLAIMS, |claim: &Claim| {
            vec![claim.name_any()]
        });
        let (claims, claims_task) = follow(
            api(&self.client, namespace),
            |_| {},
            metrics(),
            move |event| of_claims(&event),
        );
        let claims_of = |pod: &Pod| pod.claims().map(str::to_owned).collect();
        let of_pods = self.rouse(namespace, &listed, Listed::PODS, claims_of);
        let seen = Arc::clone(&pods);
        let pods_task = observe(api(&self.client, namespace), Pod::trim, metrics(), move |event| {
            seen.note(&event);
            of_pods(&event);
        });
        Namespace {
            claims,
            pods,
            listed,
            _tasks: [claims_task, pods_task],
        }
    }

    /// Has sets looked at: all when both first lists have been read, and after that those whose claims an event is about.
    fn rouse<K: ResourceExt + 'static>(
        &self,
        namespace: Option<&str>,
        listed: &Arc<Listed>,
        which: u8,
        claims: fn(&K) -> Vec<String>,
    ) -> impl Fn(&Event<K>) + Send + 'static {
        // What is open holds the task that this runs in.
        let open = Arc::downgrade(&self.open);
        let (requeue, listed, namespace) = (self.requeue.clone(), Arc::clone(listed), namespace.map(str::to_owned));
        move |event| {
            let Some(open) = open.upgrade() else { return };
            match event {
                Event::Init => {}
                Event::InitDone if listed.note(which) => {
                    for (namespace, set) in lock(&open).users(namespace.as_deref()) {
                        send(&requeue, namespace, set);
                    }
                }
                Event::Apply(object) | Event::InitApply(object) | Event::Delete(object) if listed.both() => {
                    let namespace = object.namespace().unwrap_or_default();
                    let claims = claims(object);
                    let open = lock(&open);
                    for set in claims.iter().flat_map(|claim| open.concerned(&namespace, claim)) {
                        send(&requeue, &namespace, set);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Namespace {
    /// True iff the first lists have been read. When they are, every set that waits is woken.
    pub(super) fn is_ready(&self) -> bool {
        self.listed.both()
    }
}
