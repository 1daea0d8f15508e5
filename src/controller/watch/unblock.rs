//! Watches quotas, LimitRanges and StorageClasses while an apply to a PVC is denied because of them. Only those that
//! the [message](crate::controller::objects::blockers) names are watched. When one of them changes so that the apply may pass, it is
//! retried at once, without waiting for its backoff.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use kube::{Api, Client};
use tokio::sync::Notify;

use super::scopes::Scopes;
use super::streams;
use super::streams::{RequeueSender, Task};
use crate::api::Seconds;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::objects::blockers::{Blocker, SeenBlockers, SlimLimitRange, SlimQuota, SlimStorageClass};
use crate::controller::read::item::ListItem;

/// Changes within this time count as one: quotas change all the time where Pods and PVCs are created and deleted.
/// Meanwhile the cache with which the API server checks quotas catches up.
const PAUSE: Duration = Duration::from_secs(1);

/// The maximum number of namespaces with a watch of their own on quotas or on LimitRanges: each watch needs a
/// connection. For more namespaces the whole cluster is watched, which has few of these objects.
const MAX_NAMESPACES: usize = 2;

/// The sets with denied applies, and the watches for them.
pub(crate) struct Unblock {
    client: Client,
    requeue: RequeueSender,
    metrics: Arc<ControllerMetrics>,
    waiting: Arc<Mutex<Waiting>>,
}

struct Waiting {
    quotas: Watches<SlimQuota>,
    limits: Watches<SlimLimitRange>,
    classes: Watches<SlimStorageClass>,
    /// Namespace and name of sets whose denied applies are due.
    due: HashSet<(String, String)>,
}

/// The watches on one kind of blockers, and the sets that need them.
type Watches<K> = Scopes<Arc<Watch<K>>>;

/// A watch on blockers, and the task that handles its changes.
struct Watch<K> {
    seen: Arc<Mutex<SeenBlockers<K>>>,
    _tasks: [Task; 2],
}

/// A kind of blocker that is watched.
trait WatchedBlocker: Blocker + streams::Watched {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self>;

    /// The blockers of the namespace, or of all namespaces.
    fn api(client: &Client, namespace: Option<&str>) -> Api<ListItem<Self>>;
}

impl WatchedBlocker for SlimQuota {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.quotas
    }

    fn api(client: &Client, namespace: Option<&str>) -> Api<ListItem<Self>> {
        streams::api(client, namespace)
    }
}

impl WatchedBlocker for SlimLimitRange {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.limits
    }

    fn api(client: &Client, namespace: Option<&str>) -> Api<ListItem<Self>> {
        streams::api(client, namespace)
    }
}

impl WatchedBlocker for SlimStorageClass {
    fn watches(waiting: &mut Waiting) -> &mut Watches<Self> {
        &mut waiting.classes
    }

    fn api(client: &Client, _: Option<&str>) -> Api<ListItem<Self>> {
        Api::all(client.clone())
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            quotas: Scopes::at_most(MAX_NAMESPACES),
            limits: Scopes::at_most(MAX_NAMESPACES),
            classes: Scopes::at_most(0),
            due: HashSet::new(),
        }
    }
}

impl Unblock {
    pub(crate) fn new(client: Client, requeue: RequeueSender, metrics: Arc<ControllerMetrics>) -> Self {
        Self {
            client,
            requeue,
            metrics,
            waiting: Arc::default(),
        }
    }

    /// Watches what these messages of denied applies name, for the set of this namespace, name and uid. Without
    /// messages the watches for the set end.
    pub(crate) fn set_denials(&self, set: [&str; 3], messages: &[&str]) {
        let mut waiting = lock(&self.waiting);
        self.wait_for::<SlimQuota>(&mut waiting, set, messages);
        self.wait_for::<SlimLimitRange>(&mut waiting, set, messages);
        self.wait_for::<SlimStorageClass>(&mut waiting, set, messages);
        if messages.is_empty() {
            let [namespace, set, _] = set;
            waiting.due.remove(&(namespace.to_owned(), set.to_owned()));
        }
    }

    fn wait_for<K: WatchedBlocker>(&self, waiting: &mut Waiting, set: [&str; 3], messages: &[&str]) {
        let watches = K::watches(waiting);
        if messages.iter().any(|message| K::is_named_in(message)) {
            watches.enter(set, Vec::new(), |namespace| Arc::new(self.begin::<K>(namespace)));
        } else {
            watches.leave(set, 0);
            close(watches);
        }
    }

    /// Ends the watches for sets that do not exist any more; given by uid, and by namespace and name.
    pub(crate) fn retain(&self, exists: impl Fn(&str) -> bool, is_known: impl Fn(&str, &str) -> bool) {
        fn retain<K: WatchedBlocker>(waiting: &mut Waiting, exists: impl Fn(&str) -> bool) {
            let watches = K::watches(waiting);
            watches.keep(exists, 0);
            close(watches);
        }
        let mut waiting = lock(&self.waiting);
        retain::<SlimQuota>(&mut waiting, &exists);
        retain::<SlimLimitRange>(&mut waiting, &exists);
        retain::<SlimStorageClass>(&mut waiting, &exists);
        waiting.due.retain(|(namespace, set)| is_known(namespace, set));
    }

    /// True iff a blocker of the set gave way since the last call.
    pub(crate) fn take_due(&self, namespace: &str, set: &str) -> bool {
        lock(&self.waiting).due.remove(&(namespace.to_owned(), set.to_owned()))
    }

    /// True iff an apply that was denied with this message, to a PVC of this storage class, passes now as far as is
    /// known.
    pub(crate) fn lets_pass(&self, set: [&str; 2], message: &str, class: Option<&str>) -> bool {
        fn passes<K: WatchedBlocker>(
            waiting: &mut Waiting,
            set: [&str; 2],
            message: &str,
            class: Option<&str>,
        ) -> bool {
            let watch = K::watches(waiting).of(set);
            watch.is_some_and(|watch| lock(&watch.seen).lets_pass(set[0], message, class))
        }
        let mut waiting = lock(&self.waiting);
        passes::<SlimQuota>(&mut waiting, set, message, class)
            || passes::<SlimLimitRange>(&mut waiting, set, message, class)
            || passes::<SlimStorageClass>(&mut waiting, set, message, class)
    }

    /// Starts the watch on one kind of blockers, in one namespace or in all.
    fn begin<K: WatchedBlocker>(&self, namespace: Option<&str>) -> Watch<K> {
        let gave_way = Arc::new(Notify::new());
        let seen = Arc::new(Mutex::new(SeenBlockers::default()));
        let known = Arc::clone(&seen);
        let notify = Arc::clone(&gave_way);
        let api = K::api(&self.client, namespace);
        let watch = streams::observe(api, streams::trim_all, Arc::clone(&self.metrics), move |event| {
            if lock(&known).note(event) {
                notify.notify_one();
            }
        });
        let (waiting, requeue) = (Arc::downgrade(&self.waiting), self.requeue.clone());
        let namespace = namespace.map(str::to_owned);
        let notify_task = Task::spawn(async move {
            loop {
                gave_way.notified().await;
                tokio::time::sleep(PAUSE).await;
                retry_users::<K>(&waiting, &requeue, namespace.as_deref());
            }
        });
        Watch {
            seen,
            _tasks: [watch, notify_task],
        }
    }
}

/// Ends unused watches at once.
fn close<K>(watches: &mut Watches<K>) {
    watches.close_unused(Seconds::MAX);
}

/// Requeues the sets of this watch, and marks their denied applies as due.
fn retry_users<K: WatchedBlocker>(waiting: &Weak<Mutex<Waiting>>, requeue: &RequeueSender, namespace: Option<&str>) {
    let Some(waiting) = waiting.upgrade() else { return };
    let mut waiting = lock(&waiting);
    let users = K::watches(&mut waiting).users(namespace);
    let users: Vec<_> = users.map(|(of, set)| (of.to_owned(), set.to_owned())).collect();
    for (namespace, set) in users {
        streams::send(requeue, &namespace, &set);
        waiting.due.insert((namespace, set));
    }
}
