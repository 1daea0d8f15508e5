//! The objects that are read before each decision.

use super::journal::{Journal, Millis, Stage};
use super::live::LiveSet;
use super::memory::Versions;
use super::task::MachineKind;
use super::world::{CheckResults, ReportOwner, World};
use crate::api::Settings;

/// Whether the staged change of a set obeys the rules of the settings; else the reason.
pub type Allows = fn(&Settings, &LiveSet) -> Result<(), String>;

/// The objects of one replacement, as they were read.
#[derive(Clone, Debug, Default)]
pub struct SetObjects {
    /// The StatefulSet.
    pub set: Option<LiveSet>,
    /// The journal.
    pub journal: Option<Journal>,
    /// The uid of the Secret of the journal.
    pub secret: Option<String>,
    /// The resourceVersion of that Secret.
    pub journal_version: Option<String>,
    /// Why the Secret has no journal that is to be believed.
    pub unreadable: Option<String>,
    /// The owner of the ClaimRollout.
    pub report: ReportOwner,
    /// The resourceVersion of the ClaimRollout.
    pub report_version: Option<String>,
}

impl SetObjects {
    /// The uid of the set.
    #[must_use]
    pub fn uid(&self) -> Option<String> {
        self.set.as_ref().map(|set| set.uid().to_owned())
    }

    /// The world of these objects at this time, for a replacement of this kind, without the parts that the decision has to
    /// ask for.
    #[must_use]
    pub fn world<'a>(&self, now: Millis, settings: &'a Settings, allows: Allows, kind: MachineKind) -> World<'a> {
        World {
            now,
            settings,
            allowed: self.set.as_ref().map_or(Ok(()), |set| allows(settings, set)),
            forced: kind.is_forced(),
            set: self.set.clone(),
            journal: self.journal.clone(),
            secret: self.secret.clone(),
            unreadable: self.unreadable.clone(),
            taken_back: kind == MachineKind::TakesBack,
            report: self.report.clone(),
            checks: CheckResults::default(),
            dependents: None,
            denied: None,
            namespace: None,
            last_version: None,
            verified: None,
            managers_restored: None,
            retained_at: None,
            unreferenced_since: None,
            waits_since: None,
        }
    }

    /// The versions of what a write is decided for.
    pub(super) fn versions(&self) -> Versions {
        let set = self.set.as_ref().map(|set| set.resource_version().to_owned());
        [set, self.journal_version.clone(), self.report_version.clone()]
    }

    /// The replicas of the old set, once it is marked or this step marks it, and as long as there is a journal.
    pub(super) fn old_replicas(&self, marks: bool) -> Option<i64> {
        let journal = self.journal.as_ref()?;
        match &self.set {
            Some(set) if set.uid() == journal.uid => (marks || set.is_marked()).then(|| set.replicas()),
            _ => self.is_released().then(|| journal.old().replicas()),
        }
    }

    /// True iff the journal has the object that was let go.
    pub(super) fn is_released(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::has_released)
    }

    /// True iff a set exists, and it is not the one in the journal.
    pub(super) fn has_other_set(&self) -> bool {
        let old = self.journal.as_ref().map(|journal| &journal.uid);
        self.set
            .as_ref()
            .is_some_and(|set| Some(set.uid()) != old.map(String::as_str))
    }

    /// True iff the set was let go, and does not exist yet again.
    pub(super) fn is_let_go(&self) -> bool {
        let journal = self.journal.as_ref();
        self.set.is_none() && journal.is_some_and(|journal| journal.stage == Stage::Releasing)
    }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
