//! Watches PVCs and Pods in namespaces with a rollout in progress. [`scopes`](super::scopes) chooses the watches.
//!
//! A start or a failover with thousands of complete rollouts opens no watch. With thousands in progress at most
//! [`MAX_NAMESPACES`](super::scopes::MAX_NAMESPACES) namespaces have a watch of their own, and the whole cluster has
//! one.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::runtime::reflector::Store;
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use tokio::time::Instant;

use super::failing::SharedFailing;
use super::pods::PodStore;
use super::scopes::{LINGER, Scopes};
use super::streams::{Noted, RequeueSender, Task, api, follow, observe, send};
use crate::controller::clock::Clock;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::pod::SlimPod;
use crate::controller::read::unread::UnreadObjects;
use crate::gate::{Idle, SetView};

/// The interval of the check for unused watches.
const SWEEP: Duration = Duration::from_secs(LINGER / 6);

/// The namespaces whose PVCs and Pods are watched.
pub(crate) struct Namespaces {
    client: Client,
    requeue: RequeueSender,
    clock: Clock,
    metrics: Arc<ControllerMetrics>,
    open: Arc<Mutex<OpenNamespaces>>,
    _sweeping: Task,
}

type OpenNamespaces = Scopes<Arc<Namespace>>;

/// The PVCs and Pods of one namespace, or of all.
pub(crate) struct Namespace {
    pub(crate) claims: Store<SlimClaim>,
    pub(crate) pods: Arc<PodStore>,
    listed: Arc<Listed>,
    /// Whether they cannot be listed or watched.
    pub(crate) failing: [(&'static str, SharedFailing); 2],
    /// The PVCs and the Pods that cannot be read.
    unread: [Arc<UnreadObjects>; 2],
    _tasks: [Task; 2],
}

/// Which of the two first lists is complete.
#[derive(Default)]
struct Listed(AtomicU8);

impl Listed {
    const CLAIMS: u8 = 1;
    const PODS: u8 = 2;

    fn both(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::CLAIMS | Self::PODS
    }

    /// Marks one list as complete. True iff both are.
    fn note(&self, which: u8) -> bool {
        self.0.fetch_or(which, Ordering::AcqRel);
        self.both()
    }
}

impl Namespaces {
    pub(crate) fn new(client: Client, requeue: RequeueSender, clock: Clock, metrics: Arc<ControllerMetrics>) -> Self {
        let open = Arc::new(Mutex::new(OpenNamespaces::default()));
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

    /// Returns the watch on the PVCs and Pods of the namespace, and starts it if necessary. The set of this
    /// namespace, name and uid is then one of its users.
    pub(crate) fn open(&self, set: [&str; 3], templates: Vec<String>) -> Arc<Namespace> {
        lock(&self.open).enter(set, templates, |namespace| {
            let from = namespace.unwrap_or("all namespaces");
            tracing::debug!(from, "watching PVCs and Pods");
            Arc::new(self.begin(namespace))
        })
    }

    /// The set of this namespace, name and uid does not need the watch any more.
    pub(crate) fn close(&self, set: [&str; 3]) {
        lock(&self.open).leave(set, (self.clock)());
    }

    /// Only the sets with these uids still exist.
    pub(crate) fn keep(&self, exists: impl Fn(&str) -> bool) {
        lock(&self.open).keep(exists, (self.clock)());
    }

    fn begin(&self, namespace: Option<&str>) -> Namespace {
        let (listed, pods) = (Arc::<Listed>::default(), Arc::<PodStore>::default());
        let failing = ["PVCs", "Pods"].map(|what| (what, SharedFailing::default()));
        let unread = [Arc::<UnreadObjects>::default(), Arc::default()];
        let noted = |of: usize| Noted {
            metrics: Arc::clone(&self.metrics),
            failing: Arc::clone(&failing[of].1),
            unread: Arc::clone(&unread[of]),
            skipped: None,
        };
        let of_claims = self.requeue_users(namespace, &listed, Listed::CLAIMS, |claim: &SlimClaim| {
            vec![claim.name_any()]
        });
        let watched = api(&self.client, namespace);
        let (claims, claims_task) = follow(watched, SlimClaim::trimmed, noted(0), move |event| of_claims(&event));
        let claims_of = |pod: &SlimPod| pod.claims().map(str::to_owned).collect();
        let of_pods = self.requeue_users(namespace, &listed, Listed::PODS, claims_of);
        let seen = Arc::clone(&pods);
        let pods_task = observe(api(&self.client, namespace), SlimPod::trim, noted(1), move |event| {
            seen.note(&event);
            of_pods(&event);
        });
        Namespace {
            claims,
            pods,
            listed,
            failing,
            unread,
            _tasks: [claims_task, pods_task],
        }
    }

    /// Requeues sets: all users when both first lists are complete, then those whose PVCs an event concerns.
    fn requeue_users<K: ResourceExt + 'static>(
        &self,
        namespace: Option<&str>,
        listed: &Arc<Listed>,
        which: u8,
        claims: fn(&K) -> Vec<String>,
    ) -> impl Fn(&Event<K>) + Send + 'static {
        // A strong reference would be a cycle: the open watches own the task that runs this.
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
    /// The reason to wait if a PVC or Pod of the set cannot be read: it is neither as it was nor deleted.
    pub(crate) fn unread(&self, set: &SetView) -> Option<Idle> {
        let [claims, pods] = &self.unread;
        if claims.len() + pods.len() == 0 {
            return None;
        }
        let why = |what: &'static str, of: &UnreadObjects, name: &str| {
            let why = of.why(&set.namespace, name)?;
            let why = format!("{name}: {why}");
            Some(Idle::Unlisted { what, why })
        };
        set.ordinals().chain(set.scaled_away()).find_map(|ordinal| {
            let mut names = set
                .wanted()
                .iter()
                .map(|template| format!("{}-{}-{ordinal}", template.name, set.name));
            let claim = names.find_map(|name| why("PVCs", claims, &name));
            claim.or_else(|| why("Pods", pods, &format!("{}-{ordinal}", set.name)))
        })
    }

    /// True iff the first lists are complete. Then all waiting sets are requeued.
    pub(crate) fn is_ready(&self) -> bool {
        self.listed.both()
    }

    /// Why PVCs or Pods cannot be read, if that has failed for a minute.
    pub(crate) fn unlisted(&self, now: Instant) -> Option<Idle> {
        self.failing.iter().find_map(|(what, failing)| {
            let why = lock(failing).reported(now)?.to_owned();
            Some(Idle::Unlisted { what, why })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::channel::mpsc;
    use kube::ResourceExt as _;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::{Listed, Namespaces, SlimClaim};
    use crate::controller::fixtures::silent;

    fn claim(name: &str) -> SlimClaim {
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "shop", "uid": name}})).unwrap()
    }

    /// Nothing is known of Pods before they are listed, too.
    #[tokio::test]
    async fn event_of_a_pvc_requeues_its_set_when_both_are_listed() {
        let (requeue, mut queued) = mpsc::unbounded();
        let namespaces = Namespaces::new(silent(), requeue, || 1000, Arc::default());
        let _opened = namespaces.open(["shop", "web", "u"], vec!["data".to_owned()]);
        let listed = Arc::<Listed>::default();
        let of_claims = |claim: &SlimClaim| vec![claim.name_any()];
        let requeues = namespaces.requeue_users(Some("shop"), &listed, Listed::CLAIMS, of_claims);
        let mut is_requeued = |event: Event<SlimClaim>| {
            requeues(&event);
            queued.try_recv().is_ok_and(|set| set.name == "web")
        };
        let web = || claim("data-web-0");
        assert!(!is_requeued(Event::InitApply(web())), "PVCs are being listed");
        assert!(!is_requeued(Event::InitDone), "Pods are not listed yet");
        assert!(!is_requeued(Event::Apply(web())), "Pods are not listed yet");
        listed.note(Listed::PODS);
        for (what, event, expected) in [
            ("changed", Event::Apply(web()), true),
            ("deleted", Event::Delete(web()), true),
            ("of another set", Event::Delete(claim("data-db-0")), false),
            ("listed again", Event::InitApply(web()), true),
            ("all are listed again: others may be deleted", Event::InitDone, true),
        ] {
            assert_eq!(is_requeued(event), expected, "{what}");
        }
    }
}
