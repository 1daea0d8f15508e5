//! The metrics of the controller.
//!
//! | file | contains |
//! |---|---|
//! | `controller` | every metric, and the text that Prometheus reads |
//! | `families`, `gauges` | how a metric is written; gauges that end with what they count |
//! | `states` | rollouts by state |
//! | `replacements` | replacements of StatefulSets |

pub(super) mod controller;
pub(super) mod replacements;
pub(super) mod states;

mod families;
mod gauges;
