//! The metrics of the controller.
//!
//! | file | contains |
//! |---|---|
//! | `controller` | every metric, and the text that Prometheus reads |
//! | `gauges` | gauges that end with what they count |
//! | `states` | rollouts by state |
//! | `replacements` | replacements of StatefulSets |

pub(super) mod controller;
pub(super) mod replacements;
pub(super) mod states;

mod gauges;
