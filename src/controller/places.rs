//! How many PVCs of a storage class are in motion, over all StatefulSets: who has a place.
//!
//! The places are counted anew at every reconcile of a StatefulSet, between what is seen and what is written, under one lock:
//! so no two of them take the last one. Nothing of it is stored: after a start every rollout is looked at once before any takes a place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use super::watch::lock;
use crate::rollout::budget::{AtOnce, Budget};
use crate::rollout::{Plan, Snapshot, plan};

/// What a storage class allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassLimits {
    /// How often a PVC may be modified in any 24 hours.
    pub per_day: Option<u32>,
    /// How many PVCs may be in motion at a time.
    pub at_once: Option<u32>,
}

/// The limits of storage classes, and who has how many places of them.
#[derive(Debug, Default)]
pub(super) struct Places {
    limits: BTreeMap<String, ClassLimits>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// By the uid of the StatefulSet and the storage class.
    by_set: HashMap<String, BTreeMap<String, u32>>,
    /// The uids of those that were looked at since the start.
    reconciled: HashSet<String>,
    /// All that roll out were.
    complete: bool,
}

impl Places {
    pub(super) fn new(limits: BTreeMap<String, ClassLimits>) -> Self {
        let taken = Mutex::default();
        Self { limits, taken }
    }

    /// True iff some class has a limit.
    pub(super) fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// What to do next within the budgets of the storage classes. `all_rolling` are the uids of all rollouts; it is asked
    /// until all of them were looked at once.
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

    /// The rollout of this StatefulSet has no place any more: it ended, or is not known any more.
    pub(super) fn give_back(&self, uid: &str) {
        if !self.limits.is_empty() {
            let mut taken = lock(&self.taken);
            taken.by_set.remove(uid);
            taken.reconcile(uid);
        }
    }

    /// Nothing is known of this one, however often it is looked at: others do not wait for it.
    pub(super) fn pass(&self, uid: &str) {
        if !self.limits.is_empty() {
            lock(&self.taken).reconcile(uid);
        }
    }

    /// Only these are there.
    pub(super) fn retain(&self, there: impl Fn(&str) -> bool) {
        let mut taken = lock(&self.taken);
        taken.by_set.retain(|uid, _| there(uid));
        taken.reconciled.retain(|uid| there(uid));
    }
}

impl Taken {
    /// Nobody asks who was looked at once all were.
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

    use super::{ClassLimits, Places};
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

    fn two_at_once() -> Places {
        let limits = ClassLimits {
            per_day: None,
            at_once: Some(2),
        };
        Places::new([("ebs".to_owned(), limits)].into())
    }

    /// How many PVCs the set writes, where these roll out.
    fn writes(places: &Places, uid: &str, rolling: &[&str]) -> usize {
        let rolling = || rolling.iter().map(|uid| (*uid).to_owned()).collect();
        let planned = places.plan(&mut set(uid), rolling);
        let is_apply = |action: &&Action| matches!(action, Action::ApplyClaim(_));
        planned.actions.iter().filter(is_apply).count()
    }

    #[test]
    fn a_third_set_waits_for_a_place_until_one_is_given_back() {
        let places = two_at_once();
        assert_eq!(writes(&places, "a", &["a"]), 1);
        assert_eq!(writes(&places, "b", &[]), 1);
        assert_eq!(writes(&places, "c", &[]), 0);
        assert_eq!(writes(&places, "a", &[]), 1, "its own place is no other's");
        assert_eq!(writes(&places, "c", &[]), 0);
        places.give_back("a");
        assert_eq!(writes(&places, "c", &[]), 1);
        assert_eq!(writes(&places, "a", &[]), 0);
        places.retain(|uid| uid != "b");
        assert_eq!(writes(&places, "a", &[]), 1);
    }

    #[test]
    fn after_a_start_nothing_is_begun_before_all_were_looked_at() {
        let places = two_at_once();
        let rolling = ["a", "b", "c"];
        assert_eq!(writes(&places, "a", &rolling), 0);
        assert_eq!(writes(&places, "b", &rolling), 0);
        assert_eq!(writes(&places, "a", &rolling), 0);
        places.pass("c");
        assert_eq!(writes(&places, "a", &rolling), 1);
        // One that begins later is looked at before it begins.
        assert_eq!(writes(&places, "b", &["a", "b", "c", "d"]), 1);
    }

    #[test]
    fn without_limits_nothing_is_counted() {
        let places = Places::default();
        assert_eq!(writes(&places, "a", &["b"]), 1);
        assert!(places.taken.lock().unwrap().by_set.is_empty());
    }
}
