//! Counts the PVCs of each storage class that are in motion over all StatefulSets. Each of them takes a place.
//!
//! Each reconcile counts the places of its StatefulSet under one lock before it writes, so that no two StatefulSets
//! take the last place. The count is not stored: after a start no rollout takes a place before all rollouts that were
//! there were reconciled once, or [`FIRST_READING`] has passed without another one.
//!
//! Nothing holds a place for ever: not a PVC that is in motion for longer than the progress deadline, not a StatefulSet
//! whose reconciles fail, and not one that is not reconciled any more.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use super::holders::{PlaceHolder, TakenPlaces};
use crate::api::Seconds;
use crate::controller::locking::lock;
use crate::controller::watch::streams::{RequeueSender, send};
use crate::rollout::budget::{AtOnce, Budget};
use crate::rollout::{Plan, Snapshot, plan};

/// For how many seconds the first writes wait for the next of the rollouts that were there at the start.
const FIRST_READING: Seconds = 60;

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
pub(crate) struct ClassPlaces {
    limits: BTreeMap<String, ClassLimits>,
    known: Mutex<KnownPlaces>,
}

#[derive(Debug, Default)]
struct KnownPlaces {
    taken: TakenPlaces,
    first: FirstReading,
    /// The queues of the StatefulSets that wait, one for each kind.
    queues: Vec<RequeueSender>,
}

/// Whether all rollouts that were there at the start were reconciled once.
#[derive(Debug)]
enum FirstReading {
    /// Nobody asked for a place yet. The uids of the StatefulSets that were reconciled.
    Before(HashSet<String>),
    /// The uids of those that were not, and when the last of the others was.
    Reads(HashSet<String>, Seconds),
    /// They were, or it took too long.
    Over,
}

impl Default for FirstReading {
    fn default() -> Self {
        Self::Before(HashSet::new())
    }
}

impl FirstReading {
    /// Notes that the StatefulSet of this uid was reconciled.
    fn note(&mut self, uid: &str, now: Seconds) {
        match self {
            Self::Before(read) => _ = read.insert(uid.to_owned()),
            Self::Reads(left, since) => {
                if left.remove(uid) {
                    *since = now;
                }
                if left.is_empty() {
                    *self = Self::Over;
                }
            }
            Self::Over => {}
        }
    }

    /// True iff the places of all rollouts are known. `rolling` returns the uids of all rollouts; it is called once.
    fn is_over(&mut self, now: Seconds, rolling: impl FnOnce() -> Vec<String>) -> bool {
        if let Self::Before(read) = self {
            let left = rolling().into_iter().filter(|uid| !read.contains(uid));
            *self = Self::Reads(left.collect(), now);
        }
        if let Self::Reads(left, since) = self {
            // If the clock was set back, it is unknown how long ago that was.
            *since = (*since).min(now);
            if now - *since < FIRST_READING && !left.is_empty() {
                return false;
            }
            if !left.is_empty() {
                tracing::warn!(
                    rollouts = left.len(),
                    "limits of storage classes: not every rollout could be read"
                );
            }
            *self = Self::Over;
        }
        true
    }
}

impl ClassPlaces {
    pub(crate) fn new(limits: BTreeMap<String, ClassLimits>) -> Self {
        Self {
            limits,
            known: Mutex::default(),
        }
    }

    /// Requeues StatefulSets of this queue when a place for them is free.
    pub(crate) fn requeue_in(&self, queue: RequeueSender) {
        lock(&self.known).queues.push(queue);
    }

    /// True iff some class has a limit.
    pub(crate) fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The plan within the budgets of the storage classes. `all_rolling` returns the uids of all rollouts.
    pub(crate) fn plan(&self, snapshot: &mut Snapshot, all_rolling: impl FnOnce() -> Vec<String>) -> Plan {
        if self.limits.is_empty() {
            return plan(snapshot);
        }
        let (now, uid) = (snapshot.now, snapshot.set.uid.clone());
        let mut known = lock(&self.known);
        known.first.note(&uid, now);
        let is_known = known.first.is_over(now, all_rolling);
        let set = [&*snapshot.set.namespace, &*snapshot.set.name];
        let held = known.taken.begin(&uid, set, now);
        snapshot.budgets.late = held.late(now);
        let budgets = self.limits.iter().map(|(class, limits)| {
            let at_once = limits.at_once.map(|most| AtOnce {
                most,
                others: is_known.then(|| known.taken.kept_from(&uid, class, most, now)),
                holder: known.taken.holder(&uid, class, now),
            });
            let per_day = limits.per_day;
            (class.clone(), Budget { per_day, at_once })
        });
        snapshot.budgets.classes = budgets.collect();
        let planned = plan(snapshot);
        let is_less = if snapshot.claims.is_empty() {
            known.taken.keep(&uid)
        } else {
            known.taken.note(snapshot, &planned.places)
        };
        if is_less {
            self.requeue_next(&known, now);
        }
        planned
    }

    /// Notes that the StatefulSet was reconciled, whatever came of it.
    pub(crate) fn note(&self, uid: &str, now: Seconds) {
        self.change(now, |known| {
            known.first.note(uid, now);
            false
        });
    }

    /// Removes the places of a StatefulSet whose rollout has ended, that is being replaced, or that was deleted.
    pub(crate) fn give_back(&self, uid: &str, now: Seconds) {
        self.change(now, |known| {
            known.first.note(uid, now);
            known.taken.remove(uid)
        });
    }

    /// Notes that the reconcile of a StatefulSet failed: no place waits for it.
    pub(crate) fn skip(&self, uid: &str, now: Seconds) {
        self.change(now, |known| {
            known.first.note(uid, now);
            known.taken.waits_no_more(uid)
        });
    }

    /// Only the StatefulSets with these uids still exist.
    pub(crate) fn retain(&self, exists: impl Fn(&str) -> bool, now: Seconds) {
        self.change(now, |known| {
            if let FirstReading::Reads(left, _) = &mut known.first {
                left.retain(|uid| exists(uid));
            }
            known.taken.retain(&exists)
        });
    }

    /// Changes what is known, and requeues those that wait if there is more room for them.
    fn change(&self, now: Seconds, change: impl FnOnce(&mut KnownPlaces) -> bool) {
        if self.limits.is_empty() {
            return;
        }
        let mut known = lock(&self.known);
        let was_over = matches!(known.first, FirstReading::Over);
        let has_more_room = change(&mut known);
        if has_more_room || !was_over && matches!(known.first, FirstReading::Over) {
            self.requeue_next(&known, now);
        }
    }

    /// Requeues those that get the free places.
    fn requeue_next(&self, known: &KnownPlaces, now: Seconds) {
        for (class, limits) in &self.limits {
            let next = limits.at_once.map(|most| known.taken.next(class, most, now));
            for PlaceHolder { namespace, name, .. } in next.into_iter().flatten() {
                known.queues.iter().for_each(|queue| send(queue, namespace, name));
            }
        }
    }
}

#[cfg(test)]
#[path = "class_places_tests.rs"]
pub(crate) mod tests;
