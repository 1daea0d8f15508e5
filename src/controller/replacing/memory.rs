//! What the shell of a replacement keeps, beside what the decision needs.

use tokio::time::Instant;

use super::cluster::Sight;
use crate::replace::{Fault, Memory};

/// What is kept between two decisions. After a crash the decision does without it.
#[derive(Default)]
pub(super) struct RunMemory {
    /// What the decision needs.
    pub(super) memory: Memory,
    /// What was read before a wait for others, or before a conflict: then only the set is read again.
    pub(super) polled: Option<Sight>,
    pub(super) failures: u32,
    pub(super) conflicts: u32,
    /// When the old set was let go.
    pub(super) let_go: Option<Instant>,
    pub(super) created: bool,
    /// True iff the set was let go and is yet to be created.
    pub(super) is_absent: bool,
    /// True iff it was, and no set has existed since.
    pub(super) was_absent: bool,
    /// True iff this process deleted the journal of an absent set.
    pub(super) gave_up: bool,
    /// Why the set of somebody else was left as it is.
    pub(super) foreign: Option<Fault>,
    /// True iff a step that writes was executed.
    pub(super) begun: bool,
}

impl RunMemory {
    /// That of a replacement that has begun, or not, and whose set may be absent.
    pub(super) fn new(begun: bool, is_absent: bool) -> Self {
        Self {
            begun,
            is_absent,
            ..Self::default()
        }
    }
}
