//! The guarantees that do not apply in a namespace.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Exceptions that some scenarios need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exceptions {
    /// `shrink: Recover`: a growth that was not reached may be lowered.
    pub(crate) recovers: bool,
    /// Two controllers are active: both may report the same.
    pub(crate) reported_twice: bool,
    /// The policy reverts writes to the StatefulSet.
    pub(crate) undone: bool,
    /// A webhook changes writes to PVCs.
    pub(crate) changed: bool,
    /// `update-policy: ReCreate`: PVCs are marked and deleted.
    pub(crate) recreates: bool,
}

/// The exceptions of each namespace.
#[derive(Debug, Default)]
pub(crate) struct ExceptionsOfAll(Mutex<BTreeMap<String, Exceptions>>);

impl ExceptionsOfAll {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Exceptions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, namespace: &str, change: impl FnOnce(&mut Exceptions)) {
        change(self.lock().entry(namespace.to_owned()).or_default());
    }

    pub(crate) fn of(&self, namespace: &str) -> Exceptions {
        self.lock().get(namespace).copied().unwrap_or_default()
    }
}
