//! A template is added, in all states of small scopes: the gate, the replacement as one step, and the Pods that lack
//! the volume. The decisions are the real ones; the StatefulSet controller is stuck as the real one
//! (kubernetes#141876).
//!
//! | file | contains |
//! |---|---|
//! | `objects`, `world` | the Pods, the StatefulSet controller, what may happen, and the guarantees |
//! | `decision` | calls of the real decisions |
//! | `search` | the scopes, and the search through all states |
//! | `bugs` | known bugs, to check that each is found |

mod bugs;
mod decision;
mod objects;
mod search;
mod world;

pub(super) use search::prove;

#[cfg(test)]
mod tests;
