//! What a controller knows, and what it is about to do.

use super::objects::{AllDependents, SmallJournal, SmallSet};

/// A controller. A crash forgets everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SmallProcess {
    /// What it read. None if it is to read again.
    pub(super) sight: Option<SmallSight>,
    pub(super) memory: SmallMemory,
    /// The step that it has decided, and is to execute.
    pub(super) step: Option<SmallStep>,
}

/// What a controller reads before it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SmallSight {
    pub(super) set: Option<SmallSet>,
    pub(super) journal: Option<SmallJournal>,
    /// The owner of the ClaimRollout, if it exists.
    pub(super) report: Option<u8>,
}

/// What a controller keeps between two decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SmallMemory {
    /// The part of the set for which all preconditions were checked.
    pub(super) checked: Option<SmallSet>,
    pub(super) namespace: Option<u8>,
    /// The new set whose partition was restored.
    pub(super) verified: Option<u8>,
    /// The set whose managed fields were restored.
    pub(super) managers_restored: Option<u8>,
    pub(super) retained_at: Option<u8>,
    pub(super) quiet: Quiet,
    pub(super) polled: Option<Polled>,
}

/// What was read before a wait for others, or before a conflict: then only the set is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Polled {
    pub(super) uid: u8,
    pub(super) journal: Option<SmallJournal>,
    pub(super) report: Option<u8>,
}

/// For how long nothing has referred to the old set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Quiet {
    #[default]
    No,
    Since,
    /// For so long that caches have followed, and requests have arrived.
    Settled,
}

/// A step, with what it was decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SmallStep {
    WriteJournal(SmallJournal),
    DisownReport,
    /// With `Retain`.
    Mark((u8, u8), bool),
    Delete {
        uid: u8,
        version: Option<u8>,
    },
    LetGo(SmallSet),
    /// The API server has accepted the update of the set with this uid, and is about to delete it.
    AwaitDeletion(u8),
    Create(SmallSet),
    ScaleUp((u8, u8), u8),
    DeleteRevision(u8),
    RestorePartition((u8, u8), u8),
    RestoreManagers((u8, u8)),
    OwnReport(u8),
    DeleteJournal,
    Unmark((u8, u8), bool),
    /// True while the caches settle.
    Wait(bool),
    End,
}

/// The parts of the world that a decision asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReadParts {
    pub(super) dependents: Option<AllDependents>,
    pub(super) guard: Option<bool>,
    pub(super) room: Option<bool>,
    pub(super) namespace: Option<u8>,
    /// The set as it was when it was deleted, if that is known.
    pub(super) last: Option<Option<SmallSet>>,
    pub(super) dry_runs: bool,
}

impl SmallProcess {
    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        if let Some(sight) = &mut self.sight {
            sight.set.iter_mut().for_each(|set| set.versions(visit));
            sight.journal.iter_mut().for_each(|journal| journal.versions(visit));
        }
        let polled = self.memory.polled.iter_mut();
        polled
            .flat_map(|polled| &mut polled.journal)
            .for_each(|journal| journal.versions(visit));
        match &mut self.step {
            Some(SmallStep::WriteJournal(journal)) => journal.versions(visit),
            Some(SmallStep::LetGo(set) | SmallStep::Create(set)) => set.versions(visit),
            Some(
                SmallStep::Mark((_, version), _)
                | SmallStep::ScaleUp((_, version), _)
                | SmallStep::RestorePartition((_, version), _)
                | SmallStep::RestoreManagers((_, version))
                | SmallStep::Unmark((_, version), _)
                | SmallStep::Delete {
                    version: Some(version), ..
                },
            ) => visit(version),
            _ => {}
        }
    }

    pub(super) fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        self.memory.retained_at.iter_mut().for_each(&mut *visit);
        let journaled = |journal: Option<&mut SmallJournal>, visit: &mut dyn FnMut(&mut u8)| {
            if let Some(journal) = journal {
                journal.set.generations(&mut |generation| visit(generation));
            }
        };
        if let Some(sight) = &mut self.sight {
            sight.set.iter_mut().for_each(|set| set.generations(visit));
            journaled(sight.journal.as_mut(), visit);
        }
        if let Some(polled) = &mut self.memory.polled {
            journaled(polled.journal.as_mut(), visit);
        }
        match &mut self.step {
            Some(SmallStep::WriteJournal(journal)) => journaled(Some(journal), visit),
            Some(SmallStep::LetGo(set) | SmallStep::Create(set)) => set.generations(visit),
            _ => {}
        }
    }
}
