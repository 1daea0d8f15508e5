//! A model of a cluster, in which all three decisions are tried against everything that may go wrong.
//!
//! The model is an API server and those who live there, each a function that does one thing; the decisions in it are the
//! real ones. Because effects are values, every order of things, every crash and every stale view is one list of steps,
//! which a seed gives again. What must hold is in [`crate::rollout::invariants`].
//!
//! | file | holds |
//! |---|---|
//! | `objects`, `api` | what is stored, and what the API server answers |
//! | `watch` | what a controller sees, and when |
//! | `inhabitants` | StatefulSet controller, kubelet, storage, garbage collector, people |
//! | `controller` | the loop around decision two: looks, requests, replies, crashes |
//! | `seen`, `snapshot`, `see` | the adapter to decision two |
//! | `door` | the adapter to decision one: bytes in, bytes out |
//! | `mind` | both, each question put once |
//! | `names` | numbers as texts, and back |
//! | `world` | all of it, and what may happen next |
//! | `judge` | the adapter to the invariants |
//! | `calm` | faults stop: is the wish reached? |
//! | `workload`, `workloads` | what users do |
//! | `schedule` | seeded schedules, and the shortest part of one that fails |
//! | `crash` | every fault at every request of every workload |
//! | `explore` | every order of things in a small scope |
//! | `planted` | known bugs, to see that each is found |
//! | `coverage`, `log` | what was reached, and what is written down |
//! | `canon` | states compared |
//! | [`dialogue`] | what the model and a real API server are both asked, and what is compared |
//! | `trust` | requests of somebody without rights on PVCs (S18) |
//! | `run`, `story` | the run that is part of the tests, and one schedule in words |

mod api;
mod calm;
mod canon;
mod controller;
mod coverage;
mod crash;
pub mod dialogue;
mod door;
mod explore;
mod inhabitants;
mod judge;
mod log;
mod mind;
mod names;
mod objects;
mod planted;
mod run;
mod schedule;
mod see;
mod seen;
mod snapshot;
mod story;
// With the language of the guard, which nothing that ships needs.
#[cfg(any(test, feature = "sim-run"))]
pub mod trust;
mod watch;
mod workload;
mod workloads;
mod world;

pub use run::{Effort, Numbers, prove};
pub use story::{Story, event, names as workloads};

#[cfg(test)]
mod tests;
