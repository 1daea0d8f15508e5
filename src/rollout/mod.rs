//! Decision two: what to do next to bring the claims of a set to its wish.
//!
//! Pure: no I/O, no clock, no state. Everything that was seen, the time included, comes in as a [`Snapshot`]; what goes
//! out is a [`Plan`]: actions as values, and the whole progress. The caller executes, and looks again.
//!
//! | file | holds |
//! |---|---|
//! | [`snapshot`] | what the decision reads |
//! | [`wish`] | what is wished for a set, if anything is |
//! | [`readiness`] | the words *ready* and the states of a claim |
//! | [`replica`] | one claim, one replica: the table of KEP-4650 |
//! | [`order`] | whose turn it is |
//! | [`restart`] | which Pod is evicted, so that its volumes are mounted again |
//! | [`quota`] | whether all of it fits, before anything is written |
//! | [`budget`], `stamp` | what storage classes allow; times in words |
//! | [`plan`](mod@plan) | what to do now, and the end |
//! | [`progress`], `listed`, [`course`] | what users read: how far it is, and why it waits |
//! | [`lag`] | what is counted and named where nothing is rolled out |
//! | [`tell`] | what is said once |
//! | [`history`] | which wishes are kept |
//! | [`action`] | what goes out |
//! | `invariants` | what must never happen, and what must happen in the end |

pub mod action;
pub mod budget;
pub mod course;
pub mod history;
#[cfg(all(feature = "sim", not(target_family = "wasm")))]
pub mod invariants;
pub mod lag;
#[cfg(any(test, not(target_family = "wasm")))]
mod listed;
pub mod order;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod plan;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod progress;
pub mod quota;
pub mod readiness;
pub mod replica;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod restart;
pub mod snapshot;
mod stamp;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod tell;
pub mod wish;

pub use action::{Action, ApplyClaim, Evict, Reason, SetReady, SetRecord, Tell};
pub use budget::Budgets;
pub use course::Condition;
#[cfg(any(test, not(target_family = "wasm")))]
pub use plan::{Plan, plan};
#[cfg(any(test, not(target_family = "wasm")))]
pub use progress::{ClaimProgress, Counts, Progress, TemplateProgress};
pub use quota::Quotas;
pub use readiness::ClaimState;
pub use snapshot::{Earlier, Neighbour, PodView, Refusal, Seconds, SetView, Snapshot};
pub use wish::{Idle, Wish};

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod whose_tests;
