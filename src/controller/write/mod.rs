//! Execution of a plan.
//!
//! | file | contains |
//! |---|---|
//! | `actions` | each action of a plan |
//! | `writer`, `requests` | writes, their requests, and what the memory learns of the outcome |
//! | `changed_writes` | writes that others changed |
//! | `evict` | evictions |
//! | `recreate` | the steps of `ReCreate` |

pub(super) mod actions;
pub(super) mod writer;

mod changed_writes;
mod evict;
mod recreate;
mod requests;
