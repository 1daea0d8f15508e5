//! What is remembered of each StatefulSet between two reconciles: the [memory](SetMemory) of its rollout, for the objects
//! of the API.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use kube::ResourceExt;

use super::settled::Basis;
use crate::controller::crd::ClaimRollout;
use crate::controller::locking::lock;
use crate::controller::objects::set::SlimSet;
use crate::rollout::machine::{ApiKinds, Remembered, SetMemory};

/// The objects of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfApi;

/// The memory of a StatefulSet.
pub(crate) type RolloutMemory = SetMemory<OfApi>;

/// The same, small while the StatefulSet is settled.
type RememberedSet = Remembered<OfApi>;

impl ApiKinds for OfApi {
    type Report = Arc<ClaimRollout>;
    type Basis = Basis;

    fn report_uid(report: &Arc<ClaimRollout>) -> Option<String> {
        report.uid()
    }

    fn report_version(report: &Arc<ClaimRollout>) -> String {
        report.resource_version().unwrap_or_default()
    }
}

/// The memory of all StatefulSets, by uid.
#[derive(Default)]
pub(crate) struct Memories {
    rollouts: Mutex<HashMap<String, RememberedSet>>,
    /// Those whose Pods lack no volume.
    mounted: Mutex<HashSet<String>>,
}

impl Memories {
    /// Reads or changes the memory of the set, if it has one.
    pub(crate) fn remembered<T>(&self, set: &SlimSet, then: impl FnOnce(&mut RolloutMemory) -> T) -> Option<T> {
        let mut memories = lock(&self.rollouts);
        let memory = memories.get_mut(&set.uid().unwrap_or_default())?;
        Some(memory.with(then))
    }

    /// Reads or changes the memory of the set; creates it if necessary.
    pub(crate) fn remember<T>(&self, set: &SlimSet, then: impl FnOnce(&mut RolloutMemory) -> T) -> T {
        let mut memories = lock(&self.rollouts);
        memories.entry(set.uid().unwrap_or_default()).or_default().with(then)
    }

    /// The newer of the ClaimRollout that the watch shows and the one that was written.
    pub(crate) fn latest(&self, set: &SlimSet, seen: Option<Arc<ClaimRollout>>) -> Option<Arc<ClaimRollout>> {
        self.remembered(set, |memory| memory.latest(seen.clone()))
            .unwrap_or(seen)
    }

    /// Notes that the Pods of the set with this uid lack no volume.
    pub(crate) fn note_mounted(&self, uid: &str) {
        lock(&self.mounted).insert(uid.to_owned());
    }

    /// True iff it is known that the Pods of the set lack no volume.
    pub(crate) fn is_mounted(&self, set: &SlimSet) -> bool {
        lock(&self.mounted).contains(&set.uid().unwrap_or_default())
    }

    /// Forgets the rollout of the set.
    pub(crate) fn forget(&self, set: &SlimSet) {
        lock(&self.rollouts).remove(&set.uid().unwrap_or_default());
    }

    /// Forgets a set that was deleted.
    pub(crate) fn forget_deleted(&self, set: &SlimSet) {
        lock(&self.mounted).remove(&set.uid().unwrap_or_default());
        self.forget(set);
    }

    /// Forgets sets whose uid is not known any more.
    pub(crate) fn retain(&self, is_known: impl Fn(&str) -> bool) {
        lock(&self.rollouts).retain(|uid, _| is_known(uid));
        lock(&self.mounted).retain(|uid| is_known(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::RememberedSet;

    #[test]
    fn memory_of_a_settled_set_is_small() {
        let size = size_of::<RememberedSet>();
        assert!(size <= 56, "{size} bytes");
    }
}
