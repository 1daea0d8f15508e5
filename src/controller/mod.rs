//! The controller: watches the cluster, calls [`plan`](crate::rollout::plan()), executes the plan and reports the
//! progress, in the order of the [machine](crate::rollout::machine::Machine).
//!
//! A folder imports only folders above it in this table.
//!
//! | folder | contains |
//! |---|---|
//! | [`crd`], `clock`, `locking` | the ClaimRollout, the time, and locks |
//! | `metrics` | metrics |
//! | `read` | reads whose memory is bounded |
//! | `objects` | objects of the API, reduced to the fields that are read, and the input of the decisions |
//! | `calls` | calls of the API and their outcomes |
//! | `watch` | the watches, when each is open, whether it fails, and what they show |
//! | `memory` | what is remembered of StatefulSets between two reconciles |
//! | `places` | the limits of storage classes |
//! | `registrations` | whether the policy or the guard is registered, and with which settings |
//! | `report` | ClaimRollouts, ControllerRevisions, Events |
//! | `observe` | what a decision sees, and what is read for it |
//! | `write` | execution of a plan |
//! | `replacing` | replacement of StatefulSets |
//! | `reconcile` | one reconcile, and when none is needed |
//! | `lead` | the whole run: leader election, the queue, the client, health endpoints |

pub mod crd;
pub(crate) mod objects;
pub(crate) mod read;

mod calls;
mod clock;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(any(test, fuzzing))]
mod kinds;
mod lead;
mod locking;
mod memory;
mod metrics;
mod observe;
mod places;
#[cfg(test)]
mod poisoned_tests;
mod reconcile;
mod registrations;
mod replacing;
mod report;
mod watch;
mod write;

pub use calls::api_calls::FIELD_MANAGER;
#[cfg(fuzzing)]
pub use kinds::{FIELDS, read_beside_others};
pub use lead::config::Config;
pub use lead::error::Error;
pub use lead::lease::Election;
#[cfg(feature = "cli")]
pub(crate) use lead::lease::NAME as LEASE;
pub use lead::program::{SILENCE, run};
pub use lead::write_budget::WriteBudget;
#[cfg(all(test, feature = "cli"))]
pub(crate) use metrics::controller::ControllerMetrics;
pub use observe::observer::ReCreating;
pub use places::class_places::ClassLimits;
pub use registrations::admission::WithoutPolicy;
#[cfg(feature = "cli")]
pub(crate) use registrations::kubewarden;
#[cfg(feature = "cli")]
pub(crate) use replacing::by_hand;
