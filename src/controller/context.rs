//! The state that all reconciles share: watches, caches, and the memory of each StatefulSet.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};

use super::admission::Admission;
use super::clock::Clock;
use super::crd::ClaimRollout;
use super::known_quotas::SharedQuotas;
use super::last_reports::LastReports;
use super::locking::lock;
use super::memory::{RememberedSet, RolloutMemory};
use super::metrics::ControllerMetrics;
use super::namespaces::Namespaces;
use super::pace::Pace;
use super::places::ClassPlaces;
use super::replacing::queue::Replacements;
use super::slim_set::SlimSet;
use super::unblock::Unblock;
use crate::api::Settings;
use crate::templates::MaxInMotion;

/// Whether the controller deletes PVCs for the update policy `ReCreate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReCreating {
    /// Never: such a rollout is stalled.
    #[default]
    Off,
    /// As the rollout asks for it.
    On,
}

/// The state that all reconciles share.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) settings: Arc<Settings>,
    pub(super) max_in_motion: MaxInMotion,
    pub(super) recreating: ReCreating,
    pub(super) places: Arc<ClassPlaces>,
    pub(super) sets: Store<SlimSet>,
    /// The sets of the other kind, if they are watched: some of their PVCs may have the same names.
    pub(super) others: Option<Store<SlimSet>>,
    pub(super) rollouts: Store<ClaimRollout>,
    pub(super) namespaces: Namespaces,
    pub(super) unblock: Unblock,
    pub(super) admission: Arc<Admission>,
    pub(super) event_reads: Pace,
    pub(super) quota_lists: SharedQuotas,
    pub(super) metrics: Arc<ControllerMetrics>,
    pub(super) replacements: Replacements,
    pub(super) memories: Memories,
    pub(super) last_reports: Mutex<LastReports>,
    /// The uids of sets whose Pods lack no volume.
    pub(super) mounted: Mutex<HashSet<String>>,
    /// True once the controller stops: it starts no further write.
    pub(super) stopping: Arc<AtomicBool>,
}

/// The memory of each set, by uid.
pub(super) type Memories = Mutex<HashMap<String, RememberedSet>>;

impl Context {
    /// Forgets sets that do not exist any more. Some may have been deleted while the watch was broken.
    pub(super) fn prune(&self) {
        let existing: HashSet<String> = self.all_sets().iter().filter_map(|set| set.uid()).collect();
        lock(&self.memories).retain(|uid, _| existing.contains(uid));
        let exists = |namespace: &str, set: &str| self.sets.get(&ObjectRef::new(set).within(namespace)).is_some();
        self.namespaces.keep(|uid| existing.contains(uid));
        self.places.retain(|uid| existing.contains(uid), (self.clock)());
        self.replacements.retain(exists);
        lock(&self.mounted).retain(|uid| existing.contains(uid));
        self.unblock.retain(|uid| existing.contains(uid), exists);
    }

    /// The sets of both kinds.
    pub(super) fn all_sets(&self) -> Vec<Arc<SlimSet>> {
        let others = self.others.as_ref().map(Store::state).unwrap_or_default();
        [self.sets.state(), others].concat()
    }

    /// Reads or changes the memory of the set, if it has one.
    pub(super) fn remembered<T>(&self, set: &SlimSet, then: impl FnOnce(&mut RolloutMemory) -> T) -> Option<T> {
        let mut memories = lock(&self.memories);
        let memory = memories.get_mut(&set.uid().unwrap_or_default())?;
        Some(memory.with(then))
    }

    /// Reads or changes the memory of the set; creates it if necessary.
    pub(super) fn remember<T>(&self, set: &SlimSet, then: impl FnOnce(&mut RolloutMemory) -> T) -> T {
        let mut memories = lock(&self.memories);
        memories.entry(set.uid().unwrap_or_default()).or_default().with(then)
    }

    /// The newest known ClaimRollout of the set. That of a set of the other kind with its name is none.
    pub(super) fn report_of(&self, set: &SlimSet) -> Option<Arc<ClaimRollout>> {
        let seen = self.named(set).filter(|seen| !self.is_of_other(set, seen));
        self.remembered(set, |memory| memory.latest(seen.clone()))
            .unwrap_or(seen)
    }

    /// True iff the ClaimRollout with the name of the set is that of a set of the other kind, or will be.
    pub(super) fn is_report_of_other(&self, set: &SlimSet) -> bool {
        self.namesake(set).is_some_and(|other| other.is_managed())
            || self.named(set).is_some_and(|seen| self.is_of_other(set, &seen))
    }

    /// The set of the other kind with the name of this one.
    pub(super) fn namesake(&self, set: &SlimSet) -> Option<Arc<SlimSet>> {
        self.others.as_ref()?.get(&ObjectRef::from_obj(set))
    }

    /// The ClaimRollout with the name of the set, as the watch shows it.
    fn named(&self, set: &SlimSet) -> Option<Arc<ClaimRollout>> {
        let at = ObjectRef::new(&set.name_any()).within(&set.namespace().unwrap_or_default());
        self.rollouts.get(&at)
    }

    /// True iff the ClaimRollout is about an existing set of the other kind.
    fn is_of_other(&self, set: &SlimSet, report: &ClaimRollout) -> bool {
        self.namesake(set)
            .is_some_and(|other| other.uid().as_ref() == Some(&report.spec.set_ref.uid))
    }

    /// Forgets a set that was deleted during its reconcile, which may have created memory and watches for it again.
    pub(super) fn forget_if_deleted(&self, set: &SlimSet) {
        let known = self.sets.get(&ObjectRef::from_obj(set));
        if known.is_none_or(|known| known.uid() != set.uid()) {
            self.forget_deleted(set);
        }
    }

    /// Forgets a set that was deleted.
    pub(super) fn forget_deleted(&self, set: &SlimSet) {
        lock(&self.mounted).remove(&set.uid().unwrap_or_default());
        self.forget(set);
    }

    /// Forgets a set that is deleted or not managed.
    pub(super) fn forget(&self, set: &SlimSet) {
        self.close(set);
        lock(&self.memories).remove(&set.uid().unwrap_or_default());
    }

    /// Ends the watches and returns the places of the set.
    pub(super) fn close(&self, set: &SlimSet) {
        let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
        let set = [&*namespace, &*name, &*set.uid().unwrap_or_default()];
        self.namespaces.close(set);
        self.places.give_back(set[2], (self.clock)());
        self.unblock.set_denials(set, &[]);
    }
}
