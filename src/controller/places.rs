//! Counts the PVCs of each storage class that are in motion over all StatefulSets. Each of them takes a place.
//!
//! Each reconcile counts the places of its StatefulSet under one lock before it writes, so that no two StatefulSets
//! take the last place. The count is not stored: after a start no rollout takes a place before all rollouts were
//! reconciled once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use super::watch::lock;
use crate::rollout::budget::{AtOnce, Budget};
use crate::rollout::{Plan, Snapshot, plan};

/// The limits of a storage class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassLimits {
    /// The maximum number of modifications of a PVC in any 24 hours.
    pub per_day: Option<u32>,
    /// The maximum number of PVCs in motion at a time.
    pub at_once: Option<u32>,
}

/// The limits of storage classes, and the places that each rollout has.
#[derive(Debug, Default)]
pub(super) struct ClassPlaces {
    limits: BTreeMap<String, ClassLimits>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// The number of places by uid of the StatefulSet and by storage class.
    by_set: HashMap<String, BTreeMap<String, u32>>,
    /// The uids of the StatefulSets that were reconciled since the start.
    reconciled: HashSet<String>,
    /// True once all StatefulSets with a rollout were reconciled.
    complete: bool,
}

impl ClassPlaces {
    pub(super) fn new(limits: BTreeMap<String, ClassLimits>) -> Self {
        let taken = Mutex::default();
        Self { limits, taken }
    }

    /// True iff some class has a limit.
    pub(super) fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The plan within the budgets of the storage classes. `all_rolling` returns the uids of all rollouts; it is
    /// called until all of them were reconciled once.
    pub(super) fn plan(&self, snapshot: &mut Snapshot, all_rolling: impl FnOnce() -> Vec<String>) -> Plan {
        if self.limits.is_empty() {
            return plan(snapshot);
        }
        let mut taken = lock(&self.taken);
        if !taken.complete {
            let mut rolling = all_rolling().into_iter();
            taken.complete = rolling.all(|uid| uid == snapshot.set.uid || taken.reconciled.contains(&uid));
        }
        let budgets = self.limits.iter().map(|(class, limits)| {
            let at_once = limits.at_once.map(|most| AtOnce {
                most,
                others: taken.complete.then(|| taken.by_others(&snapshot.set.uid, class)),
            });
            let per_day = limits.per_day;
            (class.clone(), Budget { per_day, at_once })
        });
        snapshot.budgets.classes = budgets.collect();
        let planned = plan(snapshot);
        taken.reconcile(&snapshot.set.uid);
        taken.by_set.insert(snapshot.set.uid.clone(), planned.places.clone());
        planned
    }

    /// Removes the places of a StatefulSet whose rollout has ended, or that was deleted.
    pub(super) fn give_back(&self, uid: &str) {
        if !self.limits.is_empty() {
            let mut taken = lock(&self.taken);
            taken.by_set.remove(uid);
            taken.reconcile(uid);
        }
    }

    /// Skips a StatefulSet whose reconcile failed, so that others do not wait for it.
    pub(super) fn skip(&self, uid: &str) {
        if !self.limits.is_empty() {
            lock(&self.taken).reconcile(uid);
        }
    }

    /// Only the StatefulSets with these uids still exist.
    pub(super) fn retain(&self, exists: impl Fn(&str) -> bool) {
        let mut taken = lock(&self.taken);
        taken.by_set.retain(|uid, _| exists(uid));
        taken.reconciled.retain(|uid| exists(uid));
    }
}

impl Taken {
    /// Notes a reconcile. Once all are complete, the uids are not needed any more.
    fn reconcile(&mut self, uid: &str) {
        if self.complete {
            self.reconciled.clear();
        } else {
            self.reconciled.insert(uid.to_owned());
        }
    }

    fn by_others(&self, uid: &str, class: &str) -> u32 {
        let others = self.by_set.iter().filter(|(set, _)| *set != uid);
        let places = others.filter_map(|(_, places)| places.get(class));
        places.fold(0, |sum, places| sum.saturating_add(*places))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ClassLimits, ClassPlaces};
    use crate::json::Value;
    use crate::rollout::fixtures::{owner, web};
    use crate::rollout::{Action, Snapshot};

    /// The set of this uid, with its PVCs in the class `ebs`.
    fn set(uid: &str) -> Snapshot {
        let mut set = web();
        set.set.uid = uid.to_owned();
        for pod in set.pods.values_mut() {
            pod.controller = Some(owner("StatefulSet", "web", uid));
        }
        let class = |spec: &mut crate::json::Map<Value>| {
            spec.insert("storageClassName".to_owned(), Value::String("ebs".to_owned()));
        };
        for claim in set.claims.values_mut() {
            class(Arc::make_mut(&mut claim.spec));
        }
        let staged = set.set.staged.as_mut().unwrap();
        class(&mut staged.templates[0].spec);
        uid.clone_into(&mut staged.uid);
        set.set.live[0].spec = staged.templates[0].spec.clone();
        set
    }

    fn two_at_once() -> ClassPlaces {
        let limits = ClassLimits {
            per_day: None,
            at_once: Some(2),
        };
        ClassPlaces::new([("ebs".to_owned(), limits)].into())
    }

    /// The number of PVCs that the set writes while these sets roll out.
    fn writes(places: &ClassPlaces, uid: &str, rolling: &[&str]) -> usize {
        let rolling = || rolling.iter().map(|uid| (*uid).to_owned()).collect();
        let planned = places.plan(&mut set(uid), rolling);
        let is_apply = |action: &&Action| matches!(action, Action::ApplyClaim(_));
        planned.actions.iter().filter(is_apply).count()
    }

    #[test]
    fn third_set_waits_until_a_place_is_free() {
        let places = two_at_once();
        assert_eq!(writes(&places, "a", &["a"]), 1);
        assert_eq!(writes(&places, "b", &[]), 1);
        assert_eq!(writes(&places, "c", &[]), 0);
        assert_eq!(writes(&places, "a", &[]), 1, "its own place stays");
        assert_eq!(writes(&places, "c", &[]), 0);
        places.give_back("a");
        assert_eq!(writes(&places, "c", &[]), 1);
        assert_eq!(writes(&places, "a", &[]), 0);
        places.retain(|uid| uid != "b");
        assert_eq!(writes(&places, "a", &[]), 1);
    }

    #[test]
    fn first_write_waits_until_all_were_reconciled() {
        let places = two_at_once();
        let rolling = ["a", "b", "c"];
        assert_eq!(writes(&places, "a", &rolling), 0);
        assert_eq!(writes(&places, "b", &rolling), 0);
        assert_eq!(writes(&places, "a", &rolling), 0);
        places.skip("c");
        assert_eq!(writes(&places, "a", &rolling), 1);
        // A rollout that starts later is reconciled before its first write.
        assert_eq!(writes(&places, "b", &["a", "b", "c", "d"]), 1);
    }

    #[test]
    fn places_without_limits_are_not_counted() {
        let places = ClassPlaces::default();
        assert_eq!(writes(&places, "a", &["b"]), 1);
        assert!(places.taken.lock().unwrap().by_set.is_empty());
    }
}
