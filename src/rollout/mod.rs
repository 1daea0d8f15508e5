//! The second decision: what to do next to bring the claims of a StatefulSet to its desired templates.
//!
//! The decision is pure: no I/O, no clock, no state. The input is a [`Snapshot`] of everything that was read, including
//! the time. The output is a [`Plan`]: actions as values, and the whole progress. The caller executes the actions and
//! reconciles again.
//!
//! | file | contains |
//! |---|---|
//! | [`snapshot`], [`set_view`] | the input of the decision |
//! | [`target`], [`idle`] | the target of a StatefulSet; why nothing is rolled out |
//! | [`readiness`] | when a claim is updated and ready; the states of a claim |
//! | [`assessment`], [`replica`], [`kept`] | one claim and one replica: the table of KEP-4650 |
//! | [`order`] | the order of the replicas |
//! | [`advance`], [`reached`] | which states were reached, so that only a new one is progress |
//! | [`anew`], [`recreate`], [`obstacle`], [`stale_marks`], [`snapshot_age`], [`volume_snapshot`] | `ReCreate`: which PVCs are deleted, and the next step |
//! | [`lowered`], `recovery` | how far the request of a PVC can be taken back; what ends a growth that failed |
//! | [`disruption`] | whether a Pod may be taken away now |
//! | [`restart`] | which Pod to evict, so that its volumes are mounted again |
//! | [`lacking`] | which Pod to evict, because it lacks a volume of the live templates |
//! | [`bounds`], [`quota`] | whether the whole rollout fits into the quotas, before the first write |
//! | [`budget`], [`spending`] | the budgets of storage classes, and how much of them is used |
//! | [`time`] | seconds, and their text format |
//! | [`plan`](mod@plan) | the actions to take now, and the end of the rollout |
//! | [`progress`], `listed`, [`conditions`] | the status: how far the rollout is, and why it waits |
//! | [`lag`] | outdated claims where nothing is rolled out |
//! | [`events`] | Events |
//! | [`early`] | Pods that were replaced before their claims |
//! | [`history`] | which revisions are kept |
//! | [`machine`] | what surrounds the decision: what is remembered, and the rounds of one reconcile |
//! | [`action`] | the output of the decision |
//! | `invariants` | the guarantees as functions |

// Shared with the policy.
pub mod budget;
pub mod idle;
pub mod reached;
pub mod readiness;
pub mod set_view;
pub mod snapshot;
pub mod target;
pub mod time;
pub mod volume_snapshot;

// Only for the controller. Leaving them out keeps the policy small.
#[cfg(any(test, not(target_family = "wasm")))]
pub mod action;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod advance;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod anew;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod assessment;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod bounds;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod conditions;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod disruption;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod early;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod events;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod history;
#[cfg(all(feature = "sim", not(target_family = "wasm")))]
pub mod invariants;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod kept;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod lacking;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod lag;
#[cfg(any(test, not(target_family = "wasm")))]
mod listed;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod lowered;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod machine;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod obstacle;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod order;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod plan;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod progress;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod quota;
#[cfg(any(test, not(target_family = "wasm")))]
mod recovery;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod recreate;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod replica;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod restart;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod snapshot_age;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod spending;

#[cfg(any(test, not(target_family = "wasm")))]
pub mod stale_marks;

#[cfg(any(test, not(target_family = "wasm")))]
pub use action::{
    Action, ApplyClaim, ClaimOf, EventNotice, Evict, EvictReason, HoldStaged, Reason, SetReady, SetStaged, SetStagedAt,
    TakeSnapshot,
};
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
mod ownership_tests;
#[cfg(test)]
mod table_tests;
