//! Reports: ClaimRollouts, ControllerRevisions, Events.
//!
//! | file | contains |
//! |---|---|
//! | `reporter` | what a plan reports |
//! | `status` | the ClaimRollout |
//! | `last_reports` | reports that were just written |
//! | `history` | ControllerRevisions |
//! | `events` | Events |
//! | `unread_sets` | Events on StatefulSets that cannot be read |

pub(super) mod events;
pub(super) mod history;
pub(super) mod reporter;
pub(super) mod unread_sets;

mod last_reports;
mod status;
