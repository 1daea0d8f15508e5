//! What surrounds the decision: what is remembered of one StatefulSet between two reconciles, and what one reconcile does
//! in which order. Values, without I/O and without a clock; the simulation runs the same ones.
//!
//! | file | contains |
//! |---|---|
//! | `kinds` | the objects that it is about: those of the API, or those of a model |
//! | `triage` | what a reconcile is for, before the first decision |
//! | `reconcile` | one reconcile: the rounds, and when the next one comes |
//! | `memory`, `remembered` | what is remembered |
//! | `answers` | what an answer to a write means |
//! | `retried_write`, `last_applies` | pauses after a failed write; writes that others changed later |
//! | `settled` | when a StatefulSet with nothing left to do is reconciled again |
//! | [`claim_events`] | Events about slow PVCs |
//! | `quota_read` | the quotas before the first write |

pub mod claim_events;

mod answers;
mod kinds;
mod last_applies;
mod memory;
mod quota_read;
mod reconcile;
mod remembered;
mod retried_write;
mod settled;
mod triage;

pub use answers::{AttemptedWrite, RoundOutcome, WriteReply};
pub use claim_events::{ClaimEvent, ClaimEvents};
pub use kinds::{ApiKinds, Kinds};
pub use last_applies::LastApply;
pub use memory::{Retry, SetMemory, WATCH_LAG, WrittenObject};
pub use quota_read::QuotaRead;
pub use reconcile::{
    AFTER_CONFLICT, COLLECT, HISTORY_PAUSE, MAX_ROUNDS, Machine, PlanFacts, ReconcileEnd, ReportFailure, ReportWrite,
    RolloutTask,
};
pub use remembered::Remembered;
pub use retried_write::RetriedWrite;
pub use settled::{EVERY, QUIET, Settled};
pub use triage::{ListState, Namesake, Purpose, Triage, TriageFact, TriageTask, Volumes};

#[cfg(test)]
mod fixtures;
