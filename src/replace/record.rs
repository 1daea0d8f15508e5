//! What one process has done to the set so far. From that follows how the replacement ended.

use std::time::Duration;

use super::journal::{Journal, Millis};
use super::live::LiveSet;
use super::notice::{Ended, Happened};
use super::objects::SetObjects;
use super::step::{End, Fault, Step};
use crate::api::ReplacementReason;

/// What one process has done to the set so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RunRecord {
    /// When the old set was let go.
    pub(super) let_go: Option<Millis>,
    created: bool,
    /// True iff the set was let go and is yet to be created.
    pub(super) is_absent: bool,
    /// True iff it was, and no set has existed since.
    was_absent: bool,
    /// True iff this process deleted the journal of an absent set.
    gave_up: bool,
    /// Why the set of somebody else was left as it is.
    foreign: Option<Fault>,
}

impl RunRecord {
    /// That of a process which has done nothing yet, and whose set may be absent.
    pub(super) fn new(is_absent: bool) -> Self {
        Self {
            is_absent,
            ..Self::default()
        }
    }

    /// Notes the objects that were read.
    pub(super) fn observed(&mut self, objects: &SetObjects) {
        self.is_absent = objects.is_let_go();
        self.was_absent = objects.set.is_none() && (self.was_absent || self.is_absent);
    }

    /// Notes what a step has done, before the objects show it. Returns what is to be reported.
    pub(super) fn done(&mut self, step: &Step, objects: &SetObjects, now: Millis) -> Vec<Happened> {
        let mut happened = Vec::new();
        match step {
            Step::LetGo(_) => {
                self.let_go = Some(now);
                (self.is_absent, self.was_absent) = (true, true);
            }
            Step::Create(_) => {
                self.created = true;
                (self.is_absent, self.was_absent) = (false, false);
                let old = objects.journal.as_ref().map(Journal::old);
                happened.extend(retained(objects, old.as_ref()));
                let let_go = self.let_go.take();
                happened.extend(let_go.map(|at| Happened::Absent(Duration::from_millis(now.saturating_sub(at)))));
            }
            // Then the new set, ours or that of somebody else, has all that it should have.
            Step::DeleteJournal if objects.is_released() => {
                self.created = objects.has_other_set();
                self.gave_up = objects.is_let_go();
            }
            Step::LeaveForeign(fault) => self.foreign = Some(fault.clone()),
            Step::Unmark { .. } => happened.extend(retained(objects, objects.set.as_ref())),
            _ => {}
        }
        happened
    }

    /// How it has ended. `forced` is true for the command `replace`.
    pub(super) fn ended(&self, end: End, objects: &SetObjects, forced: bool) -> Ended {
        match end {
            End::Nothing if objects.set.is_none() && (self.was_absent || forced) => Ended::Absent(self.set_absent()),
            End::Nothing => match &self.foreign {
                Some(fault) => Ended::Foreign(fault.clone()),
                None if self.created => Ended::Replaced,
                None => Ended::Nothing,
            },
            End::Refused(fault) => Ended::Refused(fault),
        }
    }

    /// Why a set does not exist and is not created.
    fn set_absent(&self) -> Fault {
        let why = match (self.gave_up, self.was_absent) {
            (true, _) => "its namespace is being deleted or was deleted, or its user deleted it with its Pods",
            (false, true) => "somebody deleted its journal before it was created again",
            (false, false) => "somebody deleted it",
        };
        let message = format!("the StatefulSet does not exist any more: {why}");
        Fault::new(ReplacementReason::SetAbsent, message)
    }
}

/// Somebody wants `Retain` meanwhile.
fn retained(objects: &SetObjects, last: Option<&LiveSet>) -> Option<Happened> {
    let keeps = objects.journal.as_ref()?.keeps_retain(last?);
    keeps.then_some(Happened::Retained)
}
