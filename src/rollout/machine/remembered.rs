//! The memory of a StatefulSet, small while it is settled: most are, and there are thousands.

use super::kinds::Kinds;
use super::memory::{Retry, SetMemory};
use super::settled::Settled;

/// The memory of one set.
#[derive(Debug)]
pub enum Remembered<K: Kinds> {
    /// Nothing is left to do. The uid is that of the last ClaimRollout that the watch has shown.
    Settled(Settled<K::Basis>, Option<K::ReportUid>),
    /// Everything else.
    Whole(Box<SetMemory<K>>),
}

impl<K: Kinds> Default for Remembered<K> {
    fn default() -> Self {
        Self::Whole(Box::default())
    }
}

impl<K: Kinds> Remembered<K> {
    /// Reads or changes the memory.
    pub fn with<T>(&mut self, then: impl FnOnce(&mut SetMemory<K>) -> T) -> T {
        match self {
            Self::Whole(memory) => {
                let result = then(memory);
                if let Some(settled) = only_settled(memory) {
                    *self = Self::Settled(settled, memory.shown.take());
                }
                result
            }
            Self::Settled(settled, shown) => {
                let mut memory = SetMemory {
                    settled: Some(*settled),
                    shown: shown.take(),
                    ..SetMemory::default()
                };
                let result = then(&mut memory);
                *self = match only_settled(&memory) {
                    Some(settled) => Self::Settled(settled, memory.shown),
                    None => Self::Whole(Box::new(memory)),
                };
                result
            }
        }
    }
}

/// The settled state, if there is nothing else to remember.
fn only_settled<K: Kinds>(memory: &SetMemory<K>) -> Option<Settled<K::Basis>> {
    // Every field, so that a new one is not dropped.
    let SetMemory {
        written,
        applies,
        rollout,
        reported_at,
        unlisted,
        unkept,
        shown: _,
        settled,
        ended,
        denials,
        modified,
        quotas,
        claim_events,
        waiting_pods,
        milestones,
        failures,
        undone,
        write_denied,
        not_evicted,
        not_recreated,
        overtaken,
        unanswered,
        // Without a pause, a request that is seen again ends nothing.
        asked: _,
        retry,
    } = memory;
    let maps = written.is_empty()
        && applies.is_empty()
        && unlisted.is_empty()
        && denials.is_empty()
        && modified.is_empty()
        && overtaken.is_empty()
        && unanswered.is_empty();
    let writes = rollout.is_none() && reported_at.is_none() && ended.is_none() && quotas.is_none();
    let faults = undone.is_none() && write_denied.is_none() && not_evicted.is_none();
    let faults = faults && not_recreated.is_none();
    let is_empty = maps
        && writes
        && faults
        && claim_events.is_empty()
        && waiting_pods.is_empty()
        && milestones.states.is_empty()
        && *retry == Retry::Answered
        && (*unkept, *failures) == (0, 0);
    settled.filter(|_| is_empty)
}

#[cfg(test)]
#[path = "remembered_tests.rs"]
mod tests;
