//! What every look at a StatefulSet needs: the watches, what is remembered, what is shared among looks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};

use super::Clock;
use super::admission::Admission;
use super::claim_events::Pace;
use super::crd::ClaimRollout;
use super::known_quotas::Shared;
use super::memory::Memory;
use super::metrics::Metrics;
use super::namespaces::Namespaces;
use super::places::Places;
use super::slim::Set;
use super::unblock::Unblock;
use super::watch::lock;
use crate::api::Settings;
use crate::templates::MaxInMotion;

/// What every look needs.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) settings: Arc<Settings>,
    pub(super) max_in_motion: MaxInMotion,
    pub(super) places: Places,
    pub(super) sets: Store<Set>,
    pub(super) rollouts: Store<ClaimRollout>,
    pub(super) namespaces: Namespaces,
    pub(super) unblock: Unblock,
    pub(super) admission: Admission,
    pub(super) questions: Pace,
    pub(super) quota_lists: Shared,
    pub(super) metrics: Arc<Metrics>,
    pub(super) memories: Memories,
    /// Set once: nothing new is begun.
    pub(super) stopping: Arc<AtomicBool>,
}

/// What is remembered of each set, by uid.
pub(super) type Memories = std::sync::Mutex<HashMap<String, Memory>>;

impl Context {
    /// Forgets the sets that are not there any more; some may have gone while nobody was watching.
    pub(super) fn prune(&self) {
        let there: HashSet<String> = self.sets.state().iter().filter_map(|set| set.uid()).collect();
        lock(&self.memories).retain(|uid, _| there.contains(uid));
        let exists = |namespace: &str, set: &str| self.sets.get(&ObjectRef::new(set).within(namespace)).is_some();
        self.namespaces.keep(|uid| there.contains(uid));
        self.places.retain(|uid| there.contains(uid));
        self.unblock.retain(|uid| there.contains(uid), exists);
    }

    /// Something of what is remembered of the set, if anything is.
    pub(super) fn remembered<T>(&self, set: &Set, then: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        lock(&self.memories).get_mut(&set.uid().unwrap_or_default()).map(then)
    }

    /// What is remembered of the set, from now on.
    pub(super) fn remember<T>(&self, set: &Set, then: impl FnOnce(&mut Memory) -> T) -> T {
        then(lock(&self.memories).entry(set.uid().unwrap_or_default()).or_default())
    }

    /// The ClaimRollout of the set, as new as it is known.
    pub(super) fn report_of(&self, set: &Set) -> Option<Arc<ClaimRollout>> {
        let seen = self
            .rollouts
            .get(&ObjectRef::new(&set.name_any()).within(&set.namespace().unwrap_or_default()));
        self.remembered(set, |memory| memory.latest(seen.clone()))
            .unwrap_or(seen)
    }

    /// Who looks at a set that is deleted meanwhile remembers and watches something for it after it was forgotten.
    pub(super) fn leave_if_gone(&self, set: &Set) {
        let known = self.sets.get(&ObjectRef::from_obj(set));
        if known.is_none_or(|known| known.uid() != set.uid()) {
            self.leave(set);
        }
    }

    /// The set is gone, or none of ours: nothing is remembered.
    pub(super) fn leave(&self, set: &Set) {
        self.close(set);
        lock(&self.memories).remove(&set.uid().unwrap_or_default());
    }

    /// Nothing is watched for the set any more.
    pub(super) fn close(&self, set: &Set) {
        let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
        let set = [&*namespace, &*name, &*set.uid().unwrap_or_default()];
        self.namespaces.close(set);
        self.places.give_back(set[2]);
        self.unblock.waits(set, &[]);
    }
}
