//! The controller: watches the cluster, calls [`plan`](crate::rollout::plan()), executes the plan and reports the
//! progress, in the order of the [machine](crate::rollout::machine::Machine).
//!
//! | file | holds |
//! |---|---|
//! | [`crd`] | the ClaimRollout |
//! | `set_kind`, `slim_set`, `slim_claim`, `slim_pod`, `slim_rollout` | objects of the API, reduced to the fields that are read |
//! | `views`, `objects` | conversion of these objects to the input of the decisions |
//! | `read` | reads whose memory is bounded |
//! | `watch`, `namespaces`, `scopes`, `pods`, `failing` | watches, when each is open, and whether it fails |
//! | `unread_sets` | Events on StatefulSets that cannot be read |
//! | `unblock`, `blockers` | watches on quotas, LimitRanges and StorageClasses that block an apply |
//! | `program`, `lease`, `lead` | the whole run, leader election, and what the leader runs |
//! | `work`, `fair` | which StatefulSet is reconciled next |
//! | `context`, `memory` | shared state, and the objects of the API for the state of each StatefulSet between two reconciles |
//! | `reconcile`, `facts`, `settled`, `counted`, `volumes` | one reconcile, and when none is needed |
//! | `gather`, `staged_before` | the snapshot that a decision reads |
//! | `quotas`, `known_quotas`, `budgets`, `places`, `held`, `shares` | quotas, and the limits of storage classes |
//! | `read_events`, `pace` | Events of drivers about slow PVCs |
//! | `writes`, `evict`, `recreating`, `live` | execution of a plan, and what it reads just before |
//! | `retry` | requests of users to try again now |
//! | `api_calls`, `patience`, `locking` | calls of the API, their outcomes, their time limit, and locks |
//! | `undone` | writes that others changed |
//! | `admission`, `registered`, `kubewarden` | whether the policy or the guard is registered, and with which settings |
//! | `replacing` | replacement of StatefulSets |
//! | `report`, `status`, `last_reports`, `history`, `events` | ClaimRollout, ControllerRevisions, Events |
//! | `client`, `write_budget`, `write_turns` | budget, Lease and metrics of every request |
//! | `config`, `clock` | the configuration, and the time |
//! | `metrics`, `state_metrics`, `families`, `health` | metrics and health endpoints |

pub mod crd;
#[cfg(feature = "cli")]
pub(crate) mod objects;

mod admission;
mod api_calls;
mod blockers;
mod budgets;
mod client;
mod clock;
mod config;
mod context;
mod counted;
mod error;
mod events;
mod evict;
mod facts;
mod failing;
mod fair;
mod families;
#[cfg(test)]
mod fixtures;
mod gather;
mod gauges;
mod health;
mod held;
mod history;
mod known_quotas;
pub(crate) mod kubewarden;
mod last_reports;
mod lead;
mod lease;
mod live;
mod locking;
mod memory;
mod metrics;
mod namespaces;
mod pace;
mod patience;
mod places;
mod pods;
mod program;
mod quotas;
pub(crate) mod read;
mod read_events;
mod reconcile;
mod recreating;
mod registered;
mod replacing;
mod report;
mod retry;
mod scopes;
mod set_kind;
mod settled;
mod shares;
mod slim_claim;
mod slim_pod;
mod slim_rollout;
mod slim_set;
mod staged_before;
mod state_metrics;
mod status;
mod unblock;
mod undone;
mod unread_sets;
mod views;
mod volumes;
mod watch;
mod work;
mod write_budget;
mod write_turns;
mod writes;

pub use admission::WithoutPolicy;
pub use api_calls::FIELD_MANAGER;
pub use config::Config;
pub use context::ReCreating;
pub use error::Error;
pub use lease::Election;
#[cfg(feature = "cli")]
pub(crate) use lease::NAME as LEASE;
pub use places::ClassLimits;
pub use program::{SILENCE, run};
#[cfg(fuzzing)]
pub use read::kinds::{FIELDS, read_beside_others};
#[cfg(feature = "cli")]
pub(crate) use replacing::by_hand;
pub use write_budget::WriteBudget;
