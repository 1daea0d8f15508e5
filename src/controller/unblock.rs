//! Watches what may have had PVCs refused, for as long as PVCs are: what the [words](super::obstacles) of their refusals
//! name, and nothing else. When one of them gives way, the applies that it had refused are due at once, and not only after
//! their backoff.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use kube::{Api, Client};
use tokio::sync::Notify;

use super::metrics::Metrics;
use super::obstacles::{Class, Limits, Obstacle, Quota, Seen};
use super::scopes::Scopes;
use super::watch::{self, Requeue, Task, lock};
use crate::rollout::Seconds;

/// Changes within this time are one: where Pods and claims come and go, quotas change all the time. It also lets the
/// API server's own copy of a quota, by which it judges, catch up with what we have seen.
const PAUSE: Duration = Duration::from_secs(1);

/// In how many namespaces quotas, and LimitRanges, are watched by themselves at most: each takes a connection. Where PVCs of
/// more are refused, those of the whole cluster are watched; there are few of them.
const MOST: usize = 2;

/// The sets with refused claims, and what is watched for them.
pub(super) struct Unblock {
    client: Client,
    requeue: Requeue,
    metrics: Arc<Metrics>,
    waiting: Arc<Mutex<Waiting>>,
}

struct Waiting {
    quotas: Watches<Quota>,
    limits: Watches<Limits>,
    classes: Watches<Class>,
    /// Namespace and name of sets whose refused applies are due.
    due: HashSet<(String, String)>,
}

/// The obstacles of one kind, and for whom they are watched.
type Watches<K> = Scopes<Arc<Watch<K>>>;

/// What is watched, and as long as that: the watch, and who says what it shows.
struct Watch<K> {
    seen: Arc<Mutex<Seen<K>>>,
    _tasks: [Task; 2],
}

/// An obstacle that is watched.
trait Kind: Obstacle + watch::Watched {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self>;

    /// Those of the namespace, or of all.
    fn api(client: &Client, namespace: Option<&str>) -> Api<Self>;
}

impl Kind for Quota {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.quotas
    }

    fn api(client: &Client, namespace: Option<&str>) -> Api<Self> {
        watch::api(client, namespace)
    }
}

impl Kind for Limits {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.limits
    }

    fn api(client: &Client, namespace: Option<&str>) -> Api<Self> {
        watch::api(client, namespace)
    }
}

impl Kind for Class {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.classes
    }

    fn api(client: &Client, _: Option<&str>) -> Api<Self> {
        Api::all(client.clone())
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            quotas: Scopes::at_most(MOST),
            limits: Scopes::at_most(MOST),
            classes: Scopes::at_most(0),
            due: HashSet::new(),
        }
    }
}

impl Unblock {
    pub(super) fn new(client: Client, requeue: Requeue, metrics: Arc<Metrics>) -> Self {
        Self {
            client,
            requeue,
            metrics,
            waiting: Arc::default(),
        }
    }

    /// The set of this namespace, name and uid has claims that were refused with these words: it is woken when what they
    /// name gives way. Without any words nothing is watched for it any more.
    pub(super) fn waits(&self, set: [&str; 3], refusals: &[&str]) {
        let mut waiting = lock(&self.waiting);
        self.wait_for::<Quota>(&mut waiting, set, refusals);
        self.wait_for::<Limits>(&mut waiting, set, refusals);
        self.wait_for::<Class>(&mut waiting, set, refusals);
        if refusals.is_empty() {
            let [namespace, set, _] = set;
            waiting.due.remove(&(namespace.to_owned(), set.to_owned()));
        }
    }

    fn wait_for<K: Kind>(&self, waiting: &mut Waiting, set: [&str; 3], refusals: &[&str]) {
        let watches = K::watches(waiting);
        if refusals.iter().any(|refusal| K::is_named_in(refusal)) {
            watches.enter(set, Vec::new(), |namespace| Arc::new(self.begin::<K>(namespace)));
        } else {
            watches.leave(set, 0);
            close(watches);
        }
    }

    /// Only sets of these uids may still be waiting; these are their namespaces and names.
    pub(super) fn retain(&self, there: impl Fn(&str) -> bool, named: impl Fn(&str, &str) -> bool) {
        fn retain<K: Kind>(waiting: &mut Waiting, there: impl Fn(&str) -> bool) {
            let watches = K::watches(waiting);
            watches.keep(there, 0);
            close(watches);
        }
        let mut waiting = lock(&self.waiting);
        retain::<Quota>(&mut waiting, &there);
        retain::<Limits>(&mut waiting, &there);
        retain::<Class>(&mut waiting, &there);
        waiting.due.retain(|(namespace, set)| named(namespace, set));
    }

    /// True iff an obstacle gave way since it was last asked.
    pub(super) fn take_due(&self, namespace: &str, set: &str) -> bool {
        lock(&self.waiting).due.remove(&(namespace.to_owned(), set.to_owned()))
    }

    /// True iff what refused an apply to a claim of this storage class lets it pass now, as far as that can be seen.
    pub(super) fn lets_pass(&self, set: [&str; 2], refusal: &str, class: Option<&str>) -> bool {
        fn passes<K: Kind>(waiting: &mut Waiting, set: [&str; 2], refusal: &str, class: Option<&str>) -> bool {
            let watch = K::watches(waiting).of(set);
            watch.is_some_and(|watch| lock(&watch.seen).lets_pass(set[0], refusal, class))
        }
        let mut waiting = lock(&self.waiting);
        passes::<Quota>(&mut waiting, set, refusal, class)
            || passes::<Limits>(&mut waiting, set, refusal, class)
            || passes::<Class>(&mut waiting, set, refusal, class)
    }

    /// Watches obstacles of one kind that are in the way of the sets of one namespace, or of all.
    fn begin<K: Kind>(&self, namespace: Option<&str>) -> Watch<K> {
        let gave_way = Arc::new(Notify::new());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let known = Arc::clone(&seen);
        let notify = Arc::clone(&gave_way);
        let api = K::api(&self.client, namespace);
        let watch = watch::observe(api, watch::trim_all, Arc::clone(&self.metrics), move |event| {
            if lock(&known).note(event) {
                notify.notify_one();
            }
        });
        let (waiting, requeue) = (Arc::downgrade(&self.waiting), self.requeue.clone());
        let namespace = namespace.map(str::to_owned);
        let emit = Task::spawn(async move {
            loop {
                gave_way.notified().await;
                tokio::time::sleep(PAUSE).await;
                rouse::<K>(&waiting, &requeue, namespace.as_deref());
            }
        });
        Watch {
            seen,
            _tasks: [watch, emit],
        }
    }
}

/// What nobody waits for is not watched a moment longer.
fn close<K>(watches: &mut Watches<K>) {
    watches.close_unused(Seconds::MAX);
}

/// Says that the refused applies of those who wait for this watch are due.
fn rouse<K: Kind>(waiting: &Weak<Mutex<Waiting>>, requeue: &Requeue, namespace: Option<&str>) {
    let Some(waiting) = waiting.upgrade() else { return };
    let mut waiting = lock(&waiting);
    let concerned = K::watches(&mut waiting).users(namespace);
    let concerned: Vec<_> = concerned.map(|(of, set)| (of.to_owned(), set.to_owned())).collect();
    for (namespace, set) in concerned {
        watch::send(requeue, &namespace, &set);
        waiting.due.insert((namespace, set));
    }
}
