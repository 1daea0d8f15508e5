//! Which StatefulSet is reconciled next. A value, without I/O and without a clock.
//!
//! A StatefulSet is reconciled once at a time. What changes meanwhile is seen by another reconcile, after this one.
//! Namespaces take turns, and one namespace has at most three quarters of the places: a place for a StatefulSet of
//! another one is free at once, however many of its StatefulSets change, fail or wait for the budget of writes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::fair::FairQueue;
use crate::controller::replacing::cluster::SetName;

/// A timer that is set for later than this is set for this: no clock can express more.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The reconciles that run, wait for a place, or are due later.
#[derive(Debug)]
pub(crate) struct Work {
    places: usize,
    states: HashMap<Arc<SetName>, WorkState>,
    timers: BTreeSet<(Instant, Arc<SetName>)>,
    waiting: FairQueue<Arc<SetName>>,
    /// The number of reconciles that run, by namespace.
    running_in: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkState {
    /// It is due at this time.
    Due(Instant),
    Waits,
    Runs {
        /// It has changed meanwhile.
        again: bool,
    },
}

impl Work {
    /// At most this many StatefulSets are reconciled at the same time.
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places,
            states: HashMap::new(),
            timers: BTreeSet::new(),
            waiting: FairQueue::default(),
            running_in: HashMap::new(),
        }
    }

    /// The number of places for one namespace. If there are two, one stays free for others.
    const fn places_of_namespace(&self) -> usize {
        match self.places {
            0 | 1 => 1,
            places => places - places.div_ceil(4),
        }
    }

    fn running(&self) -> usize {
        self.running_in.values().sum()
    }

    /// Something has changed that a reconcile of the StatefulSet reads.
    pub(crate) fn changed(&mut self, set: SetName) {
        let set = Arc::new(set);
        match self.states.get_mut(&set) {
            Some(WorkState::Waits) => {}
            Some(WorkState::Runs { again }) => *again = true,
            Some(WorkState::Due(at)) => {
                let at = *at;
                self.timers.remove(&(at, Arc::clone(&set)));
                self.wait(set);
            }
            None => self.wait(set),
        }
    }

    /// The StatefulSet to reconcile now, if there is one and a place for it.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Arc<SetName>> {
        while let Some((at, set)) = self.timers.first().cloned()
            && at <= now
        {
            self.timers.pop_first();
            self.wait(set);
        }
        if self.running() >= self.places {
            return None;
        }
        let most = self.places_of_namespace();
        let running_in = &self.running_in;
        let (_, set) = self
            .waiting
            .pop(|namespace| running_in.get(namespace).is_none_or(|running| *running < most))?;
        self.states.insert(Arc::clone(&set), WorkState::Runs { again: false });
        *self.running_in.entry(set.namespace.clone()).or_default() += 1;
        Some(set)
    }

    /// The reconcile of the StatefulSet has ended; the next one is due after this time, or when something changes.
    pub(crate) fn done(&mut self, set: Arc<SetName>, after: Option<Duration>, now: Instant) {
        let ended = self.states.remove(&set);
        if let Some(running) = self.running_in.get_mut(&set.namespace) {
            *running -= 1;
            if *running == 0 {
                self.running_in.remove(&set.namespace);
            }
        }
        match (ended, after) {
            (Some(WorkState::Runs { again: true }), _) => self.wait(set),
            (_, Some(after)) => {
                let at = now + after.min(LONGEST);
                self.timers.insert((at, Arc::clone(&set)));
                self.states.insert(set, WorkState::Due(at));
            }
            (_, None) => {}
        }
    }

    /// When the next reconcile is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    fn wait(&mut self, set: Arc<SetName>) {
        self.waiting.push(&set.namespace, Arc::clone(&set));
        self.states.insert(set, WorkState::Waits);
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
