//! The places that StatefulSets have, and those that wait for one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::shares::{Waiter, shares};
use crate::api::Seconds;
use crate::rollout::Snapshot;
use crate::rollout::spending::PlaceDemand;

/// For how many seconds a StatefulSet that is not planned again keeps its places: a rollout in progress is planned at
/// least every five minutes.
const STALE: Seconds = 600;

/// The most seconds for which a PVC in motion takes a place, whatever the progress deadline of its StatefulSet.
const LONGEST: Seconds = 3600;

/// For how many seconds a PVC is in motion before a message names it: most are done by then, and each change of a message
/// is a write.
const PATIENCE: Seconds = 30;

/// The places of all StatefulSets.
#[derive(Debug, Default)]
pub(super) struct TakenPlaces {
    by_set: HashMap<String, PlaceHolder>,
}

/// The places of one StatefulSet.
#[derive(Debug, Default)]
pub(super) struct PlaceHolder {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The storage class of each PVC in motion, and since when it has been, by uid.
    moving: BTreeMap<String, (String, Seconds)>,
    /// What it waits for, by storage class.
    waits: BTreeMap<String, PlaceWait>,
    /// For how many seconds a PVC in motion takes a place.
    limit: Seconds,
    /// When it was planned last.
    planned: Seconds,
}

/// What a StatefulSet waits for.
#[derive(Clone, Debug, Default)]
struct PlaceWait {
    since: Seconds,
    places: u32,
    /// The uid of the StatefulSet that the message names.
    holder: Option<String>,
}

impl PlaceHolder {
    /// The uids of the PVCs that have been in motion for too long to take a place.
    pub(crate) fn late(&self, now: Seconds) -> BTreeSet<String> {
        let late = self.moving.iter().filter(|(_, (_, since))| self.is_late(*since, now));
        late.map(|(uid, _)| uid.clone()).collect()
    }

    /// None of its times is later than now.
    fn begin_at_latest(&mut self, now: Seconds) {
        let times = self.moving.values_mut().map(|(_, since)| since);
        let times = times.chain(self.waits.values_mut().map(|waits| &mut waits.since));
        let times = times.chain([&mut self.planned]);
        times.for_each(|since| *since = (*since).min(now));
    }

    /// True iff it was not planned for too long to have a place, or to get one.
    fn is_stale(&self, now: Seconds) -> bool {
        self.planned.saturating_add(STALE) <= now
    }

    fn is_late(&self, since: Seconds, now: Seconds) -> bool {
        since.saturating_add(self.limit) <= now
    }

    /// Since when each of its PVCs that take a place of the class has been in motion.
    fn places(&self, class: &str, now: Seconds) -> impl Iterator<Item = Seconds> {
        let is_stale = self.is_stale(now);
        let of_class = self.moving.values().filter(move |(its, _)| its == class && !is_stale);
        of_class
            .map(|(_, since)| *since)
            .filter(move |since| !self.is_late(*since, now))
    }

    fn count(&self, class: &str, now: Seconds) -> u32 {
        u32::try_from(self.places(class, now).count()).unwrap_or(u32::MAX)
    }
}

impl TakenPlaces {
    /// The StatefulSet of this uid, namespace and name, which is planned now.
    pub(crate) fn begin(&mut self, uid: &str, [namespace, name]: [&str; 2], now: Seconds) -> &PlaceHolder {
        // The clock may have been set back. Those that are not planned again have no other end.
        self.by_set.values_mut().for_each(|held| held.begin_at_latest(now));
        let held = self.by_set.entry(uid.to_owned()).or_default();
        if held.name.is_empty() {
            (held.namespace, held.name) = (namespace.to_owned(), name.to_owned());
        }
        held.planned = now;
        held
    }

    /// The places of the class that the StatefulSet of this uid must leave: those that others have, and free ones that are
    /// for others first.
    pub(super) fn kept_from(&self, uid: &str, class: &str, most: u32, now: Seconds) -> u32 {
        let others = self.by_set.iter().filter(|(other, _)| *other != uid);
        let others = others.fold(0_u32, |sum, (_, held)| sum.saturating_add(held.count(class, now)));
        let ours = self.by_set.get(uid).map_or(0, |held| held.count(class, now));
        let free = most.saturating_sub(others).saturating_sub(ours);
        let shares = self.shares(Some(uid), class, free, now);
        let ours = shares.iter().filter(|share| **share == uid).count();
        others.saturating_add(u32::try_from(shares.len() - ours).unwrap_or(u32::MAX))
    }

    /// Who gets the free places of the class. The StatefulSet `unlimited` wants as many as there are.
    fn shares<'a>(&'a self, unlimited: Option<&str>, class: &str, free: u32, now: Seconds) -> Vec<&'a str> {
        let mut has = BTreeMap::new();
        let mut waiting = Vec::new();
        for (uid, held) in &self.by_set {
            let count = held.count(class, now);
            *has.entry(&*held.namespace).or_insert(0_u32) += count;
            let waits = held.waits.get(class).filter(|_| !held.is_stale(now));
            let is_unlimited = unlimited == Some(uid);
            if waits.is_some() || is_unlimited {
                waiting.push(Waiter {
                    namespace: &held.namespace,
                    uid,
                    has: count,
                    wants: if is_unlimited {
                        u32::MAX
                    } else {
                        waits.map_or(0, |waits| waits.places)
                    },
                    since: waits.map_or(now, |waits| waits.since),
                });
            }
        }
        shares(free, &waiting, &has)
    }

    /// Those that get the free places of the class.
    pub(crate) fn next(&self, class: &str, most: u32, now: Seconds) -> Vec<&PlaceHolder> {
        let counts = self.by_set.values().map(|held| held.count(class, now));
        let free = most.saturating_sub(counts.fold(0, u32::saturating_add));
        let mut next = self.shares(None, class, free, now);
        next.dedup();
        next.into_iter().filter_map(|uid| self.by_set.get(uid)).collect()
    }

    /// Another StatefulSet that has a place of the class: the one that was named before, else the one that has it for
    /// longest.
    pub(crate) fn holder(&self, uid: &str, class: &str, now: Seconds) -> Option<String> {
        let named = self.holder_of(uid, class, now)?;
        let held = self.by_set.get(named)?;
        Some(format!("{}/{}", held.namespace, held.name))
    }

    fn holder_of(&self, uid: &str, class: &str, now: Seconds) -> Option<&str> {
        let since = |held: &PlaceHolder| {
            let first = held.places(class, now).min()?;
            (first.saturating_add(PATIENCE) <= now).then_some(first)
        };
        let before = self.by_set.get(uid).and_then(|held| held.waits.get(class));
        let before = before.and_then(|waits| self.by_set.get_key_value(waits.holder.as_ref()?));
        if let Some((before, held)) = before
            && since(held).is_some()
        {
            return Some(before);
        }
        let others = self.by_set.iter().filter(|(other, _)| *other != uid);
        let holders = others.filter_map(|(other, held)| Some((since(held)?, &**other)));
        holders.min().map(|(_, holder)| holder)
    }

    /// Notes what the StatefulSet has and waits for after its plan. True iff it has or waits for less than before, so that
    /// there may be room for others.
    pub(crate) fn note(&mut self, snapshot: &Snapshot, places: &PlaceDemand) -> bool {
        let (uid, now) = (&snapshot.set.uid, snapshot.now);
        let waits = places.waiting.iter().map(|(class, places)| {
            let before = self.by_set.get(uid).and_then(|held| held.waits.get(class));
            let waits = PlaceWait {
                since: before.map_or(now, |before| before.since),
                places: *places,
                holder: self.holder_of(uid, class, now).map(str::to_owned),
            };
            (class.clone(), waits)
        });
        let waits: BTreeMap<_, _> = waits.collect();
        let Some(held) = self.by_set.get_mut(uid) else {
            return false;
        };
        let moving = places.moving.iter().map(|(uid, class)| {
            let since = held.moving.get(uid).map_or(now, |(_, since)| *since);
            (uid.clone(), (class.clone(), since))
        });
        let moving: BTreeMap<_, _> = moving.collect();
        let is_less = held.moving.keys().any(|uid| !moving.contains_key(uid))
            || held.waits.keys().any(|class| !waits.contains_key(class));
        held.limit = Seconds::from(snapshot.set.progress_deadline.0).min(LONGEST);
        (held.moving, held.waits) = (moving, waits);
        if held.moving.is_empty() && held.waits.is_empty() {
            self.by_set.remove(uid);
        }
        is_less
    }

    /// Removes a StatefulSet. True iff it had a place, or waited.
    pub(crate) fn remove(&mut self, uid: &str) -> bool {
        self.by_set.remove(uid).is_some()
    }

    /// The PVCs of the StatefulSet are not known now: those in motion keep their places. True iff it waited.
    pub(super) fn keep(&mut self, uid: &str) -> bool {
        let waited = self.waits_no_more(uid);
        self.by_set
            .retain(|known, held| known != uid || !held.moving.is_empty());
        waited
    }

    /// The StatefulSet does not wait any more. True iff it did.
    pub(super) fn waits_no_more(&mut self, uid: &str) -> bool {
        let waits = self.by_set.get_mut(uid).map(|held| std::mem::take(&mut held.waits));
        waits.is_some_and(|waits| !waits.is_empty())
    }

    /// Only the StatefulSets with these uids still exist. True iff another one had a place, or waited.
    pub(crate) fn retain(&mut self, exists: impl Fn(&str) -> bool) -> bool {
        let before = self.by_set.len();
        self.by_set.retain(|uid, _| exists(uid));
        self.by_set.len() < before
    }
}
