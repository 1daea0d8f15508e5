//! Watches what may have had claims refused, for as long as claims are: the quotas of their namespace, and storage
//! classes. When one of them gives way, the applies that it had refused are due at once, and not only after their backoff: the
//! message of a refusal names the quota and what was requested.
//!
//! A VolumeAttributesClass is not among them: the API server takes any name, and the resizer does the rest.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use k8s_openapi::api::core::v1::ResourceQuota;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Deserialize;
use tokio::sync::Notify;

use super::metrics::Metrics;
use super::watch::{self, Task, Wake, lock};
use crate::templates::Quantity;

/// Changes within this time are one: where Pods and claims come and go, quotas change all the time. It also lets the
/// API server's own copy of a quota, by which it judges, catch up with what we have seen.
const PAUSE: Duration = Duration::from_secs(1);

/// What the API server says of a growth that the storage class does not allow (PersistentVolumeClaimResize).
const NO_EXPANSION: &str = "must support resize";

/// A ResourceQuota.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ResourceQuota")]
struct Quota {
    metadata: ObjectMeta,
    #[serde(default)]
    status: QuotaStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct QuotaStatus {
    hard: BTreeMap<String, String>,
    used: BTreeMap<String, String>,
}

/// A StorageClass.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "StorageClass")]
struct Class {
    metadata: ObjectMeta,
    #[serde(default, rename = "allowVolumeExpansion")]
    allow_volume_expansion: Option<bool>,
}

/// What may stand in the way of an apply.
trait Obstacle {
    /// True iff something may pass now that did not before. `None`: it was not there, or is there no more.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool;
}

impl Obstacle for Quota {
    /// Where there is more room for claims: a limit was raised or dropped, or less is used.
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let Some(before) = before else { return false };
        let Some(after) = after else { return true };
        let mut limits = before.status.hard.iter().filter(|(key, _)| concerns_claims(key));
        limits.any(|(key, limit)| {
            let used = |quota: &Self| amount(quota.status.used.get(key));
            let raised = match after.status.hard.get(key) {
                None => true,
                now => amount(now) > amount(Some(limit)),
            };
            raised || used(after) < used(before)
        })
    }
}

/// True iff claims use up this resource of a quota. Pods use up the ephemeral storage of nodes.
fn concerns_claims(resource: &str) -> bool {
    let is_storage = resource.ends_with("requests.storage");
    is_storage || resource.ends_with("persistentvolumeclaims")
}

impl Quota {
    /// True iff what a refusal by this quota says was requested fits into it now.
    fn has_room_for(&self, refusal: &str) -> bool {
        let requested = refusal.split_once("requested: ").map_or("", |(_, requested)| requested);
        let requested = requested.split(", used:").next().unwrap_or_default();
        let whole = |text: &str| text.parse::<Quantity>().map_or(0, |amount| amount.whole());
        let of = |amounts: &BTreeMap<String, String>, resource| amounts.get(resource).map(|text| whole(text));
        let mut requested = requested.split(',').filter_map(|part| part.trim().split_once('='));
        requested.all(|(resource, more)| {
            let used = of(&self.status.used, resource).unwrap_or(0);
            of(&self.status.hard, resource).is_none_or(|hard| used.saturating_add(whole(more)) <= hard)
        })
    }
}

/// No amount is none.
fn amount(text: Option<&String>) -> Quantity {
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| Quantity::from_bytes(0))
}

impl Obstacle for Class {
    fn gave_way(before: Option<&Self>, after: Option<&Self>) -> bool {
        let expands = |class: Option<&Self>| class.is_some_and(Self::expands);
        expands(after) && !expands(before)
    }
}

impl Class {
    fn expands(&self) -> bool {
        self.allow_volume_expansion == Some(true)
    }
}

/// The obstacles of one kind, as they were seen last.
#[derive(Debug)]
struct Seen<K> {
    known: HashMap<String, K>,
    /// What a list that is being read has shown so far.
    listed: HashMap<String, K>,
    /// The first list has been read.
    complete: bool,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            listed: HashMap::new(),
            complete: false,
        }
    }
}

impl<K: Obstacle + ResourceExt> Seen<K> {
    /// Takes note of an event; true iff one of them gave way. The first list only says how things are.
    fn note(&mut self, event: Event<K>) -> bool {
        match event {
            Event::Init => {
                self.listed.clear();
                false
            }
            Event::InitApply(object) => {
                self.listed.insert(object.name_any(), object);
                false
            }
            Event::InitDone => {
                let before = std::mem::replace(&mut self.known, std::mem::take(&mut self.listed));
                let first = !std::mem::replace(&mut self.complete, true);
                let names = before.keys().chain(self.known.keys());
                let mut pairs = names.map(|name| (before.get(name), self.known.get(name)));
                !first && pairs.any(|(before, after)| K::gave_way(before, after))
            }
            Event::Apply(object) => {
                let before = self.known.get(&object.name_any());
                let gave_way = K::gave_way(before, Some(&object));
                self.known.insert(object.name_any(), object);
                gave_way
            }
            Event::Delete(object) => {
                let before = self.known.remove(&object.name_any());
                K::gave_way(before.as_ref(), None)
            }
        }
    }
}

/// The sets with refused claims, and what is watched for them.
pub(super) struct Unblock {
    client: Client,
    wake: Wake,
    metrics: Arc<Metrics>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    /// By namespace: the sets, and its quotas.
    namespaces: HashMap<String, (BTreeSet<String>, Watch<Quota>)>,
    classes: Option<Watch<Class>>,
    /// Namespace and name of sets whose refused applies are due.
    due: HashSet<(String, String)>,
}

/// What is watched, and as long as that: the watch, and who says what it shows.
struct Watch<K> {
    seen: Arc<Mutex<Seen<K>>>,
    _tasks: [Task; 2],
}

impl Unblock {
    pub(super) fn new(client: Client, wake: Wake, metrics: Arc<Metrics>) -> Self {
        Self {
            client,
            wake,
            metrics,
            waiting: Arc::default(),
        }
    }

    /// The set has claims that are refused: it is woken when an obstacle gives way.
    pub(super) fn waits(&self, namespace: &str, set: &str) {
        let mut waiting = lock(&self.waiting);
        if waiting.classes.is_none() {
            waiting.classes = Some(self.begin::<Class>(Api::all(self.client.clone()), None));
        }
        let quotas = waiting.namespaces.entry(namespace.to_owned()).or_insert_with(|| {
            let quotas = Api::namespaced(self.client.clone(), namespace);
            (BTreeSet::new(), self.begin::<Quota>(quotas, Some(namespace.to_owned())))
        });
        quotas.0.insert(set.to_owned());
    }

    /// The set has none any more.
    pub(super) fn passed(&self, namespace: &str, set: &str) {
        let mut waiting = lock(&self.waiting);
        if let Some((sets, _)) = waiting.namespaces.get_mut(namespace) {
            sets.remove(set);
            if sets.is_empty() {
                waiting.namespaces.remove(namespace);
            }
            waiting.due.remove(&(namespace.to_owned(), set.to_owned()));
        }
        waiting.close();
    }

    /// Only these sets may still be waiting.
    pub(super) fn retain(&self, keep: impl Fn(&str, &str) -> bool) {
        let mut waiting = lock(&self.waiting);
        waiting.namespaces.retain(|namespace, (sets, _)| {
            sets.retain(|set| keep(namespace, set));
            !sets.is_empty()
        });
        waiting.due.retain(|(namespace, set)| keep(namespace, set));
        waiting.close();
    }

    /// True iff an obstacle gave way since it was last asked.
    pub(super) fn take_due(&self, namespace: &str, set: &str) -> bool {
        lock(&self.waiting).due.remove(&(namespace.to_owned(), set.to_owned()))
    }

    /// True iff what refused an apply to a claim of this storage class lets it pass now, as far as that can be seen.
    pub(super) fn lets_pass(&self, namespace: &str, refusal: &str, class: Option<&str>) -> bool {
        let waiting = lock(&self.waiting);
        let quota = refusal
            .split_once("exceeded quota: ")
            .and_then(|(_, rest)| rest.split_once(','));
        if let Some((name, _)) = quota {
            let seen = waiting.namespaces.get(namespace).map(|(_, quotas)| lock(&quotas.seen));
            return seen.is_some_and(|seen| seen.known.get(name).is_none_or(|quota| quota.has_room_for(refusal)));
        }
        let class = class.filter(|_| refusal.contains(NO_EXPANSION));
        let classes = waiting.classes.as_ref().map(|classes| lock(&classes.seen));
        let class = classes
            .as_ref()
            .zip(class)
            .and_then(|(classes, name)| classes.known.get(name));
        class.is_some_and(Class::expands)
    }

    /// Watches obstacles of one kind that are in the way of the sets of one namespace, or of all.
    fn begin<K>(&self, api: Api<K>, namespace: Option<String>) -> Watch<K>
    where
        K: watch::Watched + Obstacle,
    {
        let gave_way = Arc::new(Notify::new());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let known = Arc::clone(&seen);
        let notify = Arc::clone(&gave_way);
        let watch = watch::observe(api, watch::trim_all, Arc::clone(&self.metrics), move |event| {
            if lock(&known).note(event) {
                notify.notify_one();
            }
        });
        let (waiting, wake) = (Arc::downgrade(&self.waiting), self.wake.clone());
        let tell = Task::spawn(async move {
            loop {
                gave_way.notified().await;
                tokio::time::sleep(PAUSE).await;
                rouse(&waiting, &wake, namespace.as_deref());
            }
        });
        Watch {
            seen,
            _tasks: [watch, tell],
        }
    }
}

impl Waiting {
    /// Classes are watched for those who wait, and for nobody else.
    fn close(&mut self) {
        if self.namespaces.is_empty() {
            self.classes = None;
        }
    }
}

/// Says that the refused applies of the sets of one namespace, or of all, are due.
fn rouse(waiting: &Weak<Mutex<Waiting>>, wake: &Wake, namespace: Option<&str>) {
    let Some(waiting) = waiting.upgrade() else { return };
    let mut waiting = lock(&waiting);
    let concerned = waiting
        .namespaces
        .iter()
        .filter(|(of, _)| namespace.is_none_or(|namespace| namespace == *of))
        .flat_map(|(of, (sets, _))| sets.iter().map(|set| (of.clone(), set.clone())));
    let concerned: Vec<_> = concerned.collect();
    for (namespace, set) in concerned {
        watch::send(wake, &namespace, &set);
        waiting.due.insert((namespace, set));
    }
}

#[cfg(test)]
#[path = "unblock_tests.rs"]
mod tests;
