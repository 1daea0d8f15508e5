//! Decision two: what to do next to bring the claims of a set to its target.
//!
//! Pure: no I/O, no clock, no state. Everything that was seen, the time included, comes in as a [`Snapshot`]; what goes
//! out is a [`Plan`]: actions as values, and the whole progress. The caller executes, and looks again.
//!
//! | file | holds |
//! |---|---|
//! | [`snapshot`] | what the decision reads |
//! | [`target`], [`idle`] | what is wished for a set; why nothing is rolled out |
//! | [`readiness`] | the words *ready* and the states of a claim |
//! | [`replica`], [`kept`] | one claim, one replica: the table of KEP-4650 |
//! | [`order`] | whose turn it is |
//! | [`restart`] | which Pod is evicted, so that its volumes are mounted again |
//! | [`bounds`], [`quota`] | whether all of it fits, before anything is written |
//! | [`budget`], [`spending`] | what storage classes allow, and what is used of it |
//! | [`time`] | seconds, and how they are written |
//! | [`plan`](mod@plan) | what to do now, and the end |
//! | [`progress`], `listed`, [`conditions`] | what users read: how far it is, and why it waits |
//! | [`lag`] | what is counted and named where nothing is rolled out |
//! | [`events`] | what is said once |
//! | [`history`] | which wishes are kept |
//! | [`action`] | what goes out |
//! | `invariants` | what must never happen, and what must happen in the end |

// What the policy reads as well.
pub mod budget;
pub mod idle;
pub mod readiness;
pub mod snapshot;
pub mod target;
pub mod time;

// What the controller alone decides: the policy goes without.
#[cfg(any(test, not(target_family = "wasm")))]
pub mod action;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod bounds;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod conditions;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod events;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod history;
#[cfg(all(feature = "sim", not(target_family = "wasm")))]
pub mod invariants;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod kept;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod lag;
#[cfg(any(test, not(target_family = "wasm")))]
mod listed;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod order;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod plan;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod progress;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod quota;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod replica;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod restart;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod spending;

#[cfg(any(test, not(target_family = "wasm")))]
pub use action::{Action, ApplyClaim, EventNotice, Evict, Reason, SetReady, SetStaged};
pub use budget::Budgets;
#[cfg(any(test, not(target_family = "wasm")))]
pub use conditions::Condition;
pub use idle::Idle;
#[cfg(any(test, not(target_family = "wasm")))]
pub use plan::{Plan, plan};
#[cfg(any(test, not(target_family = "wasm")))]
pub use progress::{ClaimProgress, Counts, Progress, TemplateProgress};
pub use readiness::ClaimState;
pub use snapshot::{PodView, Previous, Refusal, Seconds, SetView, Sibling, Snapshot};
pub use target::Target;

pub use crate::claims::quota::Quotas;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod whose_tests;
