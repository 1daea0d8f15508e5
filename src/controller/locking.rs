//! Locks that outlast a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic of another thread: the values are replaced as a whole or not at all.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
