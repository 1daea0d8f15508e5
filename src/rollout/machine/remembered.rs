//! The memory of a StatefulSet, small while it is settled: most are, and there are thousands.

use super::kinds::Kinds;
use super::memory::SetMemory;
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

/// The settled state, if there is nothing else to remember. Without a pause, a request that is seen again ends nothing.
fn only_settled<K: Kinds>(memory: &SetMemory<K>) -> Option<Settled<K::Basis>> {
    let nothing_else = SetMemory {
        settled: memory.settled,
        shown: memory.shown.clone(),
        asked: memory.asked,
        ..SetMemory::default()
    };
    memory.settled.filter(|_| *memory == nothing_else)
}

#[cfg(test)]
#[path = "remembered_tests.rs"]
mod tests;
