//! The update policy `ReCreate`, in all states of small scopes: S4 (only what is asked is deleted) and L8 (no second
//! replica is taken away), and that every rollout ends unless a user has to act.
//!
//! The decision, the machine and its memory are the real ones. Objects are small: states that a decision cannot
//! distinguish are one.
//!
//! | file | contains |
//! |---|---|
//! | `objects`, `world`, `transition`, `event` | objects; the API server, other controllers and users; what can happen, and the guarantees |
//! | `process`, `reconcile` | a controller: the memory and the machine of the product, with a view that may be old |
//! | `decision`, `views` | calls of the real decision |
//! | `scopes` | what may happen in each scope |
//! | `search` | all states |
//! | `bugs` | known bugs, to check that each is found |

mod bugs;
mod decision;
mod event;
mod objects;
mod process;
mod reconcile;
mod scopes;
mod search;
mod transition;
mod views;
mod world;

pub(super) use search::prove;

#[cfg(test)]
mod tests;
