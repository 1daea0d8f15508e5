//! What a reconcile does with a StatefulSet: nothing, wait for lists, report why nothing is rolled out, or roll out.
//!
//! Most StatefulSets need nothing, so the facts are found one after the other, the cheapest first. [`Triage::next`] names
//! the fact that it needs next. The caller finds it, stores it, and asks again.

use crate::gate::Idle;

/// What is known of a StatefulSet before the first decision. What is not known yet is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Triage {
    /// Whether a StatefulSet of the other kind has its name.
    pub namesake: Option<Namesake>,
    /// Whether its Pods lack volumes.
    pub volumes: Option<Volumes>,
    /// True iff it is managed or has a report.
    pub is_reported: Option<bool>,
    /// True iff it is not managed, or is settled and has not changed.
    pub rests: Option<bool>,
    /// True iff a previous controller has reported that nothing is left to do.
    pub was_settled: Option<bool>,
    /// What a reconcile is for.
    pub purpose: Option<Purpose>,
    /// Why its staged change is not trusted, if it is not.
    pub distrust: Option<Option<Idle>>,
    /// Whether the lists of PVCs and Pods are complete.
    pub lists: Option<ListState>,
}

/// A fact of a [`Triage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriageFact {
    /// [`Triage::namesake`]
    Namesake,
    /// [`Triage::volumes`]
    Volumes,
    /// [`Triage::is_reported`]
    IsReported,
    /// [`Triage::rests`]
    Rests,
    /// [`Triage::was_settled`]
    WasSettled,
    /// [`Triage::purpose`]
    Purpose,
    /// [`Triage::distrust`]
    Distrust,
    /// [`Triage::lists`]
    Lists,
}

/// A StatefulSet of the other kind with the same name. Their Pods, PVCs and reports would have the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namesake {
    /// There is none, or this StatefulSet has the name first.
    Absent,
    /// There is one.
    Exists,
    /// There is one, and the report with the name is about it.
    Reported,
}

/// What is known about the volumes of the Pods of a StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volumes {
    /// The lists of PVCs and Pods are not complete. The StatefulSet is requeued when they are.
    Unread,
    /// A Pod lacks one.
    Lacking,
    /// None lacks one, or none would be evicted for it.
    Mounted,
}

/// What a reconcile is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It rolls out a staged change.
    RollOut,
    /// It counts PVCs, although nothing is rolled out.
    Count,
    /// It reports why nothing is rolled out, for which no PVC is read.
    Report,
}

/// The state of the lists of PVCs and Pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListState {
    /// They are complete.
    Complete,
    /// They are not complete yet.
    Incomplete,
    /// They cannot be read.
    Failing {
        /// Why.
        why: Idle,
        /// They were complete before.
        is_complete: bool,
    },
}

/// What to do with a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriageTask {
    /// To find this fact.
    Find(TriageFact),
    /// To leave it to its namesake, and report that unless the report is about the namesake.
    LeaveToNamesake {
        /// The report is about the namesake: only an Event is emitted.
        only_event: bool,
    },
    /// To wait for the lists of PVCs and Pods.
    AwaitLists,
    /// To let it rest for as long as it is known to.
    Rest,
    /// To note that it is settled.
    Settle,
    /// To decide what to do next, and to report it.
    Decide {
        /// Why nothing is rolled out, if that is known.
        halted: Option<Idle>,
        /// The PVCs and Pods are part of the decision.
        reads_lists: bool,
    },
}

impl Triage {
    /// What to do next, by what is known.
    #[must_use]
    pub fn next(&self) -> TriageTask {
        self.decided().unwrap_or_else(TriageTask::Find)
    }

    /// # Errors
    /// The fact that is missing.
    fn decided(&self) -> Result<TriageTask, TriageFact> {
        let namesake = self.namesake.ok_or(TriageFact::Namesake)?;
        if namesake != Namesake::Absent {
            let only_event = namesake == Namesake::Reported;
            return Ok(TriageTask::LeaveToNamesake { only_event });
        }
        let lacks = match self.volumes.ok_or(TriageFact::Volumes)? {
            Volumes::Unread => return self.unread(),
            Volumes::Lacking => true,
            Volumes::Mounted => false,
        };
        if !lacks && self.rests.ok_or(TriageFact::Rests)? {
            return Ok(TriageTask::Rest);
        }
        if !lacks && self.was_settled.ok_or(TriageFact::WasSettled)? {
            return Ok(TriageTask::Settle);
        }
        let purpose = self.purpose.ok_or(TriageFact::Purpose)?;
        let halted = match purpose {
            Purpose::RollOut => self.distrust.as_ref().ok_or(TriageFact::Distrust)?.clone(),
            Purpose::Count | Purpose::Report => None,
        };
        let reads_lists = match purpose {
            Purpose::Count => true,
            // A rollout from before the policy may have ended.
            Purpose::RollOut => lacks || matches!(halted, None | Some(Idle::StagedBeforePolicy)),
            Purpose::Report => lacks,
        };
        if !reads_lists {
            return Ok(TriageTask::Decide { halted, reads_lists });
        }
        Ok(match self.lists.as_ref().ok_or(TriageFact::Lists)? {
            ListState::Complete => TriageTask::Decide { halted, reads_lists },
            ListState::Incomplete => TriageTask::AwaitLists,
            ListState::Failing { why, is_complete } => reports(why, *is_complete),
        })
    }

    /// The Pods are not known. If they cannot be listed for a minute, that is reported, but not of a StatefulSet that is
    /// not managed.
    fn unread(&self) -> Result<TriageTask, TriageFact> {
        if !self.is_reported.ok_or(TriageFact::IsReported)? {
            return Ok(TriageTask::AwaitLists);
        }
        Ok(match self.lists.as_ref().ok_or(TriageFact::Lists)? {
            ListState::Failing { why, is_complete } => reports(why, *is_complete),
            ListState::Complete | ListState::Incomplete => TriageTask::AwaitLists,
        })
    }
}

/// Reports that the lists cannot be read. What they contained is part of the decision if they were complete.
fn reports(why: &Idle, reads_lists: bool) -> TriageTask {
    TriageTask::Decide {
        halted: Some(why.clone()),
        reads_lists,
    }
}

#[cfg(test)]
#[path = "triage_tests.rs"]
mod tests;
