//! Replaces StatefulSets: reads the world of a replacement, executes the steps of [`next`](crate::replace::next()), and
//! reports them.
//!
//! | file | contains |
//! |---|---|
//! | `cluster` | reads of the set, the journal, the ClaimRollout |
//! | `parts`, `others`, `last_version` | reads of the parts that a decision asks for |
//! | `steps`, `answer` | execution of a step, and what is learned from an answer |
//! | `run` | runs one replacement: the shell of [`Machine`](crate::replace::Machine) |
//! | `notify` | status, Events, log and metrics of replacements |
//! | `turns`, `place` | who is next, as a value; and the places that follow from it |
//! | `queue` | which sets are to be replaced, and the replacements in progress |
//! | `journals` | journals that are refused, reported again and again |
//! | `start` | start and resumption of replacements |
//! | `by_hand` | replacements without a controller, for the commands |

mod answer;
#[cfg(feature = "cli")]
pub(crate) mod by_hand;
pub(super) mod cluster;
mod journals;
mod last_version;
mod notify;
mod others;
pub(super) mod parts;
mod place;
pub(super) mod queue;
#[cfg(test)]
mod reads_tests;
mod run;
mod start;
mod steps;
mod turns;
