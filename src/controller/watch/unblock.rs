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
    /// The watches on each of [`KINDS`], and the sets that need them.
    watches: [Scopes<Arc<Watch>>; KINDS.len()],
    /// Namespace and name of sets whose denied applies are due.
    due: HashSet<(String, String)>,
}

/// True iff an apply that was denied with this message passes now, in this namespace and for a PVC of this class.
type LetsPass = dyn Fn(&str, &str, Option<&str>) -> bool + Send + Sync;

/// A watch on blockers, and the task that handles its changes.
struct Watch {
    lets_pass: Box<LetsPass>,
    _tasks: [Task; 2],
}

/// A kind of blockers that is watched.
struct WatchedKind {
    is_named_in: fn(&str) -> bool,
    /// Starts the watch in one namespace, or in all.
    begin: fn(&Unblock, Option<&str>) -> Watch,
    max_namespaces: usize,
}

const KINDS: [WatchedKind; 3] = [
    WatchedKind {
        is_named_in: SlimQuota::is_named_in,
        begin: |unblock, of| unblock.begin::<SlimQuota>(0, streams::api(&unblock.client, of), of),
        max_namespaces: MAX_NAMESPACES,
    },
    WatchedKind {
        is_named_in: SlimLimitRange::is_named_in,
        begin: |unblock, of| unblock.begin::<SlimLimitRange>(1, streams::api(&unblock.client, of), of),
        max_namespaces: MAX_NAMESPACES,
    },
    WatchedKind {
        is_named_in: SlimStorageClass::is_named_in,
        begin: |unblock, of| unblock.begin::<SlimStorageClass>(2, Api::all(unblock.client.clone()), of),
        max_namespaces: 0,
    },
];

impl Default for Waiting {
    fn default() -> Self {
        Self {
            watches: KINDS.map(|kind| Scopes::at_most(kind.max_namespaces)),
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
        for (kind, watches) in KINDS.iter().zip(&mut waiting.watches) {
            if messages.iter().any(|message| (kind.is_named_in)(message)) {
                watches.enter(set, Vec::new(), |namespace| Arc::new((kind.begin)(self, namespace)));
            } else {
                watches.leave(set, 0);
                close(watches);
            }
        }
        if messages.is_empty() {
            let [namespace, set, _] = set;
            waiting.due.remove(&(namespace.to_owned(), set.to_owned()));
        }
    }

    /// Ends the watches for sets that do not exist any more; given by uid, and by namespace and name.
    pub(crate) fn retain(&self, exists: impl Fn(&str) -> bool, is_known: impl Fn(&str, &str) -> bool) {
        let mut waiting = lock(&self.waiting);
        for watches in &mut waiting.watches {
            watches.keep(&exists, 0);
            close(watches);
        }
        waiting.due.retain(|(namespace, set)| is_known(namespace, set));
    }

    /// True iff a blocker of the set gave way since the last call.
    pub(crate) fn take_due(&self, namespace: &str, set: &str) -> bool {
        lock(&self.waiting).due.remove(&(namespace.to_owned(), set.to_owned()))
    }

    /// True iff an apply that was denied with this message, to a PVC of this storage class, passes now as far as is
    /// known.
    pub(crate) fn lets_pass(&self, set: [&str; 2], message: &str, class: Option<&str>) -> bool {
        let waiting = lock(&self.waiting);
        let mut watches = waiting.watches.iter().filter_map(|watches| watches.of(set));
        watches.any(|watch| (watch.lets_pass)(set[0], message, class))
    }

    /// Starts the watch on the kind of blockers at this place, in one namespace or in all.
    fn begin<K: Blocker + streams::Watched>(
        &self,
        place: usize,
        api: Api<ListItem<K>>,
        namespace: Option<&str>,
    ) -> Watch {
        let gave_way = Arc::new(Notify::new());
        let seen = Arc::new(Mutex::new(SeenBlockers::<K>::default()));
        let known = Arc::clone(&seen);
        let notify = Arc::clone(&gave_way);
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
                retry_users(&waiting, place, &requeue, namespace.as_deref());
            }
        });
        Watch {
            lets_pass: Box::new(move |namespace, message, class| lock(&seen).lets_pass(namespace, message, class)),
            _tasks: [watch, notify_task],
        }
    }
}

/// Ends unused watches at once.
fn close(watches: &mut Scopes<Arc<Watch>>) {
    watches.close_unused(Seconds::MAX);
}

/// Requeues the sets of this watch, and marks their denied applies as due.
fn retry_users(waiting: &Weak<Mutex<Waiting>>, place: usize, requeue: &RequeueSender, namespace: Option<&str>) {
    let Some(waiting) = waiting.upgrade() else { return };
    let mut waiting = lock(&waiting);
    let users = waiting.watches[place].users(namespace);
    let users: Vec<_> = users.map(|(of, set)| (of.to_owned(), set.to_owned())).collect();
    for (namespace, set) in users {
        streams::send(requeue, &namespace, &set);
        waiting.due.insert((namespace, set));
    }
}
