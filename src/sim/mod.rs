//! A model of a cluster, in which all four decisions are tested with every known fault.
//!
//! The model consists of an API server and actors; each actor is a function that makes one write. The decisions are
//! the real ones. Because effects are values, a schedule is a list of steps, and a seed reproduces it. The guarantees
//! are in [`crate::rollout::invariants`].
//!
//! | file | contents |
//! |---|---|
//! | `objects`, `api`, `write` | stored objects, writes, and the answers of the API server |
//! | `watch` | the delayed view of a controller |
//! | `actors` | StatefulSet controller, kubelet, storage, garbage collector, users |
//! | `controller` | the controller around `plan`: the memory and the machine of the product, requests, replies, crashes |
//! | `rollout_adapter`, `controller_view`, `snapshot` | the adapter to `plan` |
//! | `admission_adapter` | the adapter to `admit`: bytes in, bytes out |
//! | `invariant_adapter`, `request_adapter`, `target` | the adapter to the guarantees |
//! | `decisions`, `plan_decision` | calls of the decisions, cached |
//! | `names`, `texts`, `room` | numbers as texts and quotas, and back |
//! | `settings` | the settings in which workloads differ |
//! | `world`, `step`, `clock` | the state of the model, and its steps |
//! | `settle` | the end of a schedule without faults: is the target reached? |
//! | `workload`, `workloads` | user actions |
//! | `schedule` | random schedules, and how a failing one is shortened |
//! | `crash` | every fault at every request of every workload |
//! | `search`, `graph` | all states of a model, breadth first |
//! | `bugs` | how bugs are planted in a small model |
//! | `explore`, `canonical` | all states of a small scope of the whole model |
//! | `planted` | known bugs, to check that each is found |
//! | `coverage`, `log` | coverage, and the log of a run |
//! | [`dialogue`] | the model beside a real API server |
//! | `recreate` | `ReCreate`, in a model of its own (S4, L8) |
//! | `replace` | replacing a StatefulSet, in a model of its own (S17, L7) |
//! | `volumes` | an added template, in a model of its own (S20, L9) |
//! | `trust` | requests of a user without rights on PVCs (S18) |
//! | `effort`, `run`, `threads` | the run that is part of the tests, in two threads |
//! | `trace`, `words` | the trace of one schedule |

mod actors;
mod admission_adapter;
mod api;
mod bugs;
mod canonical;
mod clock;
mod controller;
mod controller_view;
mod coverage;
mod crash;
mod decisions;
pub mod dialogue;
mod effort;
mod explore;
mod graph;
mod invariant_adapter;
mod log;
mod names;
mod objects;
mod plan_decision;
mod planted;
mod recreate;
mod replace;
mod request_adapter;
mod rollout_adapter;
mod room;
mod run;
mod schedule;
mod search;
mod settings;
mod settle;
mod snapshot;
mod step;
mod target;
mod texts;
mod threads;
mod trace;
// The guard is evaluated with a CEL library, which nothing that ships needs.
#[cfg(any(test, feature = "sim-run"))]
pub mod trust;
mod volumes;
mod watch;
mod words;
mod workload;
mod workloads;
mod world;
mod write;

pub use effort::Effort;
pub use run::{RunNumbers, prove, prove_small};
pub use search::SearchNumbers;
pub use trace::{Trace, names as workloads, trace};

#[cfg(test)]
mod tests;
