//! The whole run, and what the leader runs.
//!
//! | file | contains |
//! |---|---|
//! | `program` | the run of the controller |
//! | `config` | its configuration |
//! | `lease` | leader election |
//! | `leader` | the watches, the queue and the reconciles |
//! | `parts` | what the leader builds for its reconciles |
//! | `work`, `fair` | which StatefulSet is reconciled next |
//! | `client` | the client: budget, Lease and metrics of every request |
//! | `write_budget`, `write_turns` | the budget of writes, and whose turn it is |
//! | `health` | health endpoints and metrics |
//! | `error` | why the controller ends |

pub(super) mod config;
pub(super) mod error;
pub(super) mod lease;
pub(super) mod parts;
pub(super) mod program;
pub(super) mod write_budget;

mod client;
mod fair;
mod health;
mod leader;
mod work;
mod write_turns;
