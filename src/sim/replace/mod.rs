//! Replacing a StatefulSet, in all states of small scopes: S17 (nothing is lost) and L7 (every replacement ends).
//!
//! The machine is the real one: the controllers of the model only read, send and hand back answers. Objects are small:
//! states that a decision cannot distinguish are one.
//!
//! | file | contains |
//! |---|---|
//! | `objects`, `world` | objects, the API server, and the guarantees |
//! | `memory`, `process` | a controller of ours: reads, sends, crashes |
//! | `machines`, `numbers`, `manifests` | the real machine, with objects as an API server returns them |
//! | `collector` | the garbage collector, which may miss late references |
//! | `statefulset` | the StatefulSet controller, with old views |
//! | `users` | users, scalers, GitOps tools, namespaces, quotas |
//! | `event`, `search`, `scopes` | what may happen, all states, and the scopes |
//! | `bugs` | known bugs, to check that each is found |

mod bugs;
mod collector;
mod event;
mod machines;
mod manifests;
mod memory;
mod numbers;
mod objects;
mod process;
mod scopes;
mod search;
mod statefulset;
mod users;
mod world;

pub(super) use search::prove;

#[cfg(test)]
mod tests;
