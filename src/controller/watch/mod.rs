//! What the controller watches, and what the watches show.
//!
//! | file | contains |
//! |---|---|
//! | `streams` | a watch, and the queue of StatefulSets that it requeues |
//! | `failing` | whether a watch fails |
//! | `namespaces`, `scopes`, `pods` | PVCs and Pods: which watch is open, and when |
//! | `unblock` | quotas, LimitRanges and StorageClasses while an apply is denied because of them |
//! | `cache` | what the watches show |

pub(super) mod cache;
pub(super) mod failing;
pub(super) mod namespaces;
pub(super) mod streams;
pub(super) mod unblock;

mod pods;
mod scopes;
