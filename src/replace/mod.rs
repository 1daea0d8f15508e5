//! The fourth decision: how a StatefulSet is replaced by one with the desired templates, without its Pods.
//!
//! The decision is pure: [`next`](next::next) gets what was read and returns the next [`Step`]. The caller executes the
//! step, reads again and decides again.
//!
//! ```text
//! check → journal → disown the ClaimRollout → mark → delete (orphan) → wait for the garbage collector and settle
//!       → journal → let go → create → verify → strategy, managed fields, ClaimRollout → delete the journal → unmark
//! ```
//!
//! | file | contains |
//! |---|---|
//! | [`live`], `managers` | a StatefulSet as JSON, who manages its fields, and the one to create in its place |
//! | [`journal`] | what survives a crash |
//! | [`world`] | the input of the decision |
//! | [`check`], [`scaled_away`], `volumes` | the preconditions |
//! | [`mod@next`], `adoption` | the decision |
//! | [`step`] | its output |
//! | [`memory`] | what is kept between two decisions, and what an answer to a step means |
//! | [`machine`], `record` | a whole replacement: what it reads, writes, repeats, waits for and reports |
//! | `canonical` | what a machine keeps, with as few different numbers as possible: for the simulation |
//! | [`task`], [`objects`], [`notice`] | what goes in and out of it |

mod adoption;
#[cfg(feature = "sim")]
pub mod canonical;
pub mod check;
pub mod journal;
pub mod live;
pub mod machine;
mod managers;
pub mod memory;
pub mod next;
pub mod notice;
pub mod objects;
mod record;
pub mod scaled_away;
pub mod step;
pub mod task;
mod volumes;
pub mod world;

pub use check::basis;
pub use journal::{Journal, Millis, Stage};
pub use live::{FINALIZER, HOLD, LiveSet};
pub use machine::Machine;
pub use memory::{Consequence, Memory};
pub use next::next;
pub use notice::{Ended, Happened, Notice};
pub use objects::SetObjects;
pub use step::{End, Fault, Part, SetVersion, Step, Waits};
pub use task::{MachineKind, PauseCause, ReplaceTask, Reply, StartFrom};
pub use world::{DryRuns, LastVersion, World};

#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod table_tests;
