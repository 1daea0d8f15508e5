//! One reconcile of one StatefulSet.
//!
//! | file | contains |
//! |---|---|
//! | `context` | what all reconciles share |
//! | `shell` | one reconcile: does what the [`Triage`](crate::rollout::machine::Triage) and the [`Machine`](crate::rollout::machine::Machine) return |
//! | `facts` | the facts of the triage |
//! | `volumes` | whether Pods lack a volume |
//! | `counts` | whether PVCs are counted although nothing is rolled out |
//! | `retry` | requests of users to try again now |

pub(super) mod context;
pub(super) mod shell;

mod counts;
mod facts;
mod retry;
mod volumes;
