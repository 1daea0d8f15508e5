//! The second decision: what to do next to bring the claims of a StatefulSet to its desired templates.
//!
//! The decision is pure: no I/O, no clock, no state. The input is a [`Snapshot`] of everything that was read, including
//! the time. The output is a [`Plan`]: actions as values, and the whole progress. The caller executes the actions and
//! reconciles again.
//!
//! | file | contains |
//! |---|---|
//! | [`snapshot`] | the input of the decision |
//! | [`assessment`], [`replica`], [`restraint`] | one claim and one replica: the table of KEP-4650 |
//! | [`order`] | the order of the replicas |
//! | [`overview`] | a rollout: what the parts of the decision have found |
//! | [`advance`], [`milestones`] | which states were reached, so that only a new one is progress |
//! | [`recreate_need`], [`recreate`], [`obstacle`], [`stale_marks`], [`snapshot_age`], [`volume_snapshot`] | `ReCreate`: which PVCs are deleted, and the next step |
//! | [`reduced_request`], `recovery` | how far the request of a PVC can be taken back; what ends a growth that failed |
//! | [`disruption`] | whether a Pod may be taken away now |
//! | [`restart`] | which Pod to evict, so that its volumes are mounted again |
//! | [`missing_volumes`] | which Pod to evict, because it lacks a volume of the live templates |
//! | [`bounds`], [`quota`] | whether the whole rollout fits into the quotas, before the first write |
//! | [`budget`], [`spending`] | the budgets of storage classes, and how much of them is used |
//! | [`plan`](mod@plan) | the actions to take now, and the end of the rollout |
//! | [`progress`], `listing`, [`conditions`] | the status: how far the rollout is, and why it waits |
//! | [`idle_report`] | outdated claims where nothing is rolled out |
//! | [`events`] | Events |
//! | [`early_pods`] | Pods that were replaced before their claims |
//! | [`history`] | which revisions are kept |
//! | [`machine`] | what surrounds the decision: what is remembered, and the rounds of one reconcile |
//! | [`action`] | the output of the decision |
//! | `invariants` | the guarantees as functions |

pub mod action;
pub mod advance;
pub mod assessment;
pub mod bounds;
pub mod budget;
pub mod conditions;
pub mod disruption;
pub mod early_pods;
pub mod events;
pub mod history;
pub mod idle_report;
#[cfg(feature = "sim")]
pub mod invariants;
mod listing;
pub mod machine;
pub mod milestones;
pub mod missing_volumes;
pub mod obstacle;
pub mod order;
pub mod overview;
pub mod plan;
pub mod progress;
pub mod quota;
mod recovery;
pub mod recreate;
pub mod recreate_need;
pub mod reduced_request;
pub mod replica;
pub mod restart;
pub mod restraint;
pub mod snapshot;
pub mod snapshot_age;
pub mod spending;
pub mod stale_marks;
pub mod volume_snapshot;

pub use action::{
    Action, ApplyClaim, ClaimOf, EventNotice, Evict, EvictReason, Reason, SetReady, SetStaged, SetStagedAt,
    TakeSnapshot,
};
pub use budget::Budgets;
pub use conditions::Condition;
pub use plan::{Plan, plan};
pub use progress::{ClaimProgress, Counts, Progress, TemplateProgress};
pub use snapshot::{PodView, Previous, Refusal, Sibling, Snapshot};

pub use crate::claims::quota::Quotas;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod ownership_tests;
#[cfg(test)]
pub(crate) mod table_tests;
#[cfg(test)]
mod target_tests;
