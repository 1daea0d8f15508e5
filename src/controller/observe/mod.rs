//! What the decisions see of a StatefulSet, and what is read for them.
//!
//! | file | contains |
//! |---|---|
//! | `observer` | the snapshot |
//! | `budgets` | when PVCs were modified |
//! | `reader` | what no watch shows |
//! | `quotas`, `quota_cache` | quotas of a namespace |
//! | `driver_events`, `pace` | Events of drivers about slow PVCs, and how often they are read |
//! | `questions`, `live` | what a decision about `ReCreate` asks for |

pub(super) mod budgets;
pub(super) mod observer;
pub(super) mod pace;
pub(super) mod questions;
pub(super) mod quota_cache;
pub(super) mod reader;

mod driver_events;
mod live;
mod quotas;
