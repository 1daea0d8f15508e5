//! Whose turn it is: which replacements have a place, which wait for one, and which is next. A value, without I/O and
//! without a clock.
//!
//! | a replacement | needs a place |
//! |---|---|
//! | whose StatefulSet is absent | no: it goes on at once |
//! | that has begun | for each step. It keeps its place for the time that a replacement usually takes; after that, and after a failure, it gives it back in each pause |
//! | that has not begun | yes, and the garbage collector must not be suspected |
//!
//! A namespace has at most a quarter of the places, and namespaces take turns.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::SetName;
use crate::api::ReplacementReason;
use crate::replace::{Fault, Millis, PauseCause};

/// The number of replacements at the same time.
pub(super) const PLACES: usize = 16;

/// The number of those in one namespace.
pub(super) const PLACES_OF_NAMESPACE: usize = PLACES / 4;

/// The time within which a replacement usually ends, and the garbage collector has done its part of it.
pub(super) const USUAL: Millis = 10_000;

/// While the garbage collector is suspected, this time passes before the next replacement tries it.
pub(super) const PROBE: Millis = 120_000;

/// The replacements that have a place, wait for one, or pause.
#[derive(Debug, Default)]
pub(super) struct Turns {
    replacements: BTreeMap<SetName, QueuedTurn>,
    /// The number of the last request or turn.
    last: u64,
    /// The number of the last turn of each namespace that has replacements.
    turns: BTreeMap<String, u64>,
    /// When the garbage collector last did what a replacement waited for.
    collected: Option<Millis>,
    /// When a replacement last tried the suspected garbage collector.
    probed: Option<Millis>,
}

#[derive(Debug)]
struct QueuedTurn {
    place: PlaceState,
    begun: bool,
    /// When it first had a place.
    since: Option<Millis>,
    /// Since when it waits for the garbage collector.
    collecting: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceState {
    /// It asked with this number.
    Asked(u64),
    Taken,
    /// It pauses, or its set is absent.
    Unneeded,
}

impl Turns {
    /// Asks for a place, unless the replacement has one.
    pub(super) fn ask(&mut self, set: &SetName, begun: bool) {
        self.last += 1;
        let number = self.last;
        let turn = self.turn(set);
        turn.begun |= begun;
        if turn.place == PlaceState::Unneeded {
            turn.place = PlaceState::Asked(number);
        }
    }

    /// The set is absent: it is created without a place.
    pub(super) fn needs_none(&mut self, set: &SetName) {
        self.turn(set).place = PlaceState::Unneeded;
    }

    pub(super) fn begins(&mut self, set: &SetName) {
        self.turn(set).begun = true;
    }

    /// The replacement pauses for this cause. Others write to a set for a moment only, so it keeps its place then; after a
    /// failure it gives it back, and else if it takes longer than usual.
    pub(super) fn pauses(&mut self, set: &SetName, cause: &PauseCause, now: Millis) {
        match cause {
            PauseCause::Conflicts => return,
            PauseCause::Failure(_) => return self.gives_back(set),
            PauseCause::Settling => self.collected(set, now),
            PauseCause::Collecting => _ = self.turn(set).collecting.get_or_insert(now),
            PauseCause::Others => {}
        }
        let is_long = |since: Millis| now.saturating_sub(since) >= USUAL;
        if self
            .replacements
            .get(set)
            .and_then(|turn| turn.since)
            .is_some_and(is_long)
        {
            self.gives_back(set);
        }
    }

    /// Gives the place back.
    fn gives_back(&mut self, set: &SetName) {
        if let Some(turn) = self.replacements.get_mut(set) {
            turn.place = PlaceState::Unneeded;
        }
    }

    /// The garbage collector has done what the replacement waited for.
    fn collected(&mut self, set: &SetName, now: Millis) {
        if self.turn(set).collecting.take().is_some() {
            self.collected = Some(now);
        }
    }

    /// The replacement has ended.
    pub(super) fn ends(&mut self, set: &SetName) {
        self.replacements.remove(set);
        if !self.replacements.keys().any(|other| other.namespace == set.namespace) {
            self.turns.remove(&set.namespace);
        }
    }

    /// Gives free places to those whose turn it is, and returns them.
    pub(super) fn admit(&mut self, now: Millis) -> Vec<SetName> {
        self.forget_times_to_come(now);
        let mut admitted = Vec::new();
        while let Some(set) = self.next(now) {
            let is_probe = self.suspect(now).is_some();
            self.last += 1;
            self.turns.insert(set.namespace.clone(), self.last);
            let turn = self.turn(&set);
            turn.place = PlaceState::Taken;
            turn.since.get_or_insert(now);
            if is_probe && !turn.begun {
                self.probed = Some(now);
            }
            admitted.push(set);
        }
        admitted
    }

    /// If the clock was set back, it is unknown how long ago something was: from now on the time counts again.
    fn forget_times_to_come(&mut self, now: Millis) {
        let turns = self.replacements.values_mut();
        let times = turns.flat_map(|turn| [&mut turn.since, &mut turn.collecting]);
        let times = times.chain([&mut self.collected, &mut self.probed]);
        times.flatten().for_each(|time| *time = (*time).min(now));
    }

    pub(super) fn has_place(&self, set: &SetName) -> bool {
        self.replacements
            .get(set)
            .is_some_and(|turn| turn.place == PlaceState::Taken)
    }

    /// The number of replacements that have a place, and of those that wait for one.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |is: fn(&QueuedTurn) -> bool| self.replacements.values().filter(|turn| is(turn)).count();
        (
            count(|turn| turn.place == PlaceState::Taken),
            count(|turn| matches!(turn.place, PlaceState::Asked(_))),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replacements.is_empty()
    }

    /// Why the replacement must not begin, although places may be free.
    pub(super) fn prevented(&self, set: &SetName, now: Millis) -> Option<Fault> {
        let turn = self.replacements.get(set)?;
        if turn.begun || turn.place == PlaceState::Taken {
            return None;
        }
        let slow = self.slow_in(&set.namespace, now).or_else(|| {
            let (slow, _) = self.suspect(now)?;
            Some(slow)
        })?;
        let message = format!(
            "StatefulSet {}/{} waits for the garbage collector; until that is done, this one is left as it is",
            slow.namespace, slow.name
        );
        Some(Fault {
            reason: ReplacementReason::WaitsForGarbageCollector,
            message,
        })
    }

    fn turn(&mut self, set: &SetName) -> &mut QueuedTurn {
        self.replacements.entry(set.clone()).or_insert(QueuedTurn {
            place: PlaceState::Unneeded,
            begun: false,
            since: None,
            collecting: None,
        })
    }

    /// Who gets the next place: of the namespaces, the one that has waited the longest since its last turn; in it, who
    /// has begun, and then who asked first.
    fn next(&self, now: Millis) -> Option<SetName> {
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for (set, turn) in &self.replacements {
            if turn.place == PlaceState::Taken {
                *taken.entry(&set.namespace).or_default() += 1;
            }
        }
        if taken.values().sum::<usize>() >= PLACES {
            return None;
        }
        let may_begin = self.may_begin(now);
        let slow = self.replacements.iter().filter(|(_, turn)| is_slow(turn, now));
        let slow: BTreeSet<&str> = slow.map(|(set, _)| &*set.namespace).collect();
        let waiting = self.replacements.iter().filter_map(|(set, turn)| {
            let PlaceState::Asked(number) = turn.place else {
                return None;
            };
            let is_free = taken
                .get(&*set.namespace)
                .is_none_or(|taken| *taken < PLACES_OF_NAMESPACE);
            let may = turn.begun || may_begin && !slow.contains(&*set.namespace);
            (is_free && may).then_some((set, turn.begun, number))
        });
        let mut firsts: BTreeMap<&str, (bool, u64, &SetName)> = BTreeMap::new();
        let mut since: BTreeMap<&str, u64> = BTreeMap::new();
        for (set, begun, number) in waiting {
            let this = (!begun, number, set);
            firsts
                .entry(&set.namespace)
                .and_modify(|first| *first = this.min(*first))
                .or_insert(this);
            since
                .entry(&set.namespace)
                .and_modify(|since| *since = number.min(*since))
                .or_insert(number);
        }
        let waits_since = |namespace: &str| {
            let last = self.turns.get(namespace).copied();
            since.get(namespace).copied().max(last)
        };
        let next = firsts.iter().min_by_key(|(namespace, _)| waits_since(namespace));
        next.map(|(_, (_, _, set))| (*set).clone())
    }

    /// True iff the garbage collector is not suspected, or a replacement may try it: one after another.
    fn may_begin(&self, now: Millis) -> bool {
        let Some((_, since)) = self.suspect(now) else {
            return true;
        };
        let last = self.probed.map_or(since, |probed| probed.max(since));
        let tries = |turn: &QueuedTurn| turn.place == PlaceState::Taken && !is_slow(turn, now);
        now.saturating_sub(last) >= PROBE && !self.replacements.values().any(tries)
    }

    /// The replacement for whose sake the garbage collector is suspected, and since when it waits: it waits for longer
    /// than usual, and the garbage collector has done nothing for others since then. Whoever keeps the garbage collector
    /// from one StatefulSet does not stop the others for long.
    fn suspect(&self, now: Millis) -> Option<(&SetName, Millis)> {
        let slow = self.replacements.iter().filter(|(_, turn)| is_slow(turn, now));
        let slow = slow.filter_map(|(set, turn)| Some((set, turn.collecting?)));
        slow.filter(|(_, since)| self.collected.is_none_or(|collected| collected < *since))
            .min_by_key(|(_, since)| *since)
    }

    /// The first replacement of the namespace that waits for the garbage collector for longer than usual.
    fn slow_in(&self, namespace: &str, now: Millis) -> Option<&SetName> {
        let mut slow = self.replacements.iter().filter(|(_, turn)| is_slow(turn, now));
        slow.find(|(set, _)| set.namespace == namespace).map(|(set, _)| set)
    }
}

fn is_slow(turn: &QueuedTurn, now: Millis) -> bool {
    turn.collecting.is_some_and(|since| now.saturating_sub(since) >= USUAL)
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
