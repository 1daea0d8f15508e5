//! What a controller knows, and what it is about to do.

use std::hash::{Hash, Hasher};

use super::objects::{AllDependents, SmallAnswer, SmallJournal, SmallSet};
pub(super) use crate::replace::canonical::Limit;

/// The most versions, and the most generations, that a machine keeps.
const KNOWN: usize = 8;

/// Numbers that a machine keeps. It numbers them from 1 on, in their order here; 0 is none.
pub(super) type KnownNumbers = [u8; KNOWN];

/// A controller. A crash forgets everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SmallProcess {
    /// The number of the machine, with the step that it has decided. 0 if no replacement is in progress.
    pub(super) machine: u32,
    pub(super) facts: Facts,
    pub(super) versions: KnownNumbers,
    /// In ascending order.
    pub(super) generations: KnownNumbers,
    /// The uid of the set that the API server is about to delete, because it has accepted the step. 0 if there is none.
    pub(super) emptied: u8,
    /// Whether a planted bug believes that the namespace has ended.
    pub(super) is_misled: bool,
}

/// What the model has to know of a machine. It follows from the machine, so that it need not be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// It has decided a step, and is to execute it.
    pub(super) has_step: bool,
    /// It decides without a read.
    pub(super) knows: bool,
    /// It knows no set, and reads none before its next write.
    pub(super) creates: bool,
    /// The limits that it has yet to reach.
    pub(super) settles: bool,
    pub(super) is_checked: bool,
    pub(super) waits: bool,
}

impl Hash for Facts {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What a controller reads before it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SmallSight {
    pub(super) set: Option<SmallSet>,
    pub(super) journal: Option<SmallJournal>,
    /// The owner of the ClaimRollout, if it exists.
    pub(super) report: Option<u8>,
}

/// A step, with what it was decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SmallStep {
    /// With the version of the journal that was read.
    WriteJournal(SmallJournal),
    DisownReport,
    /// With `Retain`.
    Mark((u8, u8), bool),
    Delete {
        uid: u8,
        version: Option<u8>,
    },
    LetGo(SmallSet),
    Create(SmallSet),
    ScaleUp((u8, u8), u8),
    DeleteRevision(u8),
    RestorePartition((u8, u8), u8),
    RestoreManagers((u8, u8)),
    OwnReport(u8),
    /// Of this version.
    DeleteJournal(u8),
    /// As it was read, and whether `whenDeleted` is restored.
    Unmark(SmallSet, bool),
    /// Only a planted bug sends that.
    Nothing,
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
    /// The last part cannot be read.
    pub(super) fails: bool,
}

/// What a machine is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    /// It decides, after it has read this, as far as it has to read.
    Decide(SmallSight, ReadParts),
    /// It is to read, and cannot.
    FailedRead,
    /// This came of its write.
    Answer(SmallReply),
    /// This limit of a time is reached.
    Reach(Limit),
}

/// What came of a write, and what the reply shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SmallReply {
    pub(super) answer: SmallAnswer,
    pub(super) set: Option<SmallSet>,
    /// The version of the journal.
    pub(super) journal: u8,
    pub(super) report: Option<u8>,
}

/// What a machine has reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// How long there was no set.
    pub(super) absent: bool,
    /// The end of a replacement that was done.
    pub(super) replaced: bool,
}

impl SmallReply {
    /// A reply that shows nothing.
    pub(super) const fn of(answer: SmallAnswer) -> Self {
        Self {
            answer,
            set: None,
            journal: 0,
            report: None,
        }
    }
}

impl SmallProcess {
    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        self.versions.iter_mut().filter(|one| **one != 0).for_each(visit);
    }

    pub(super) fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        self.generations.iter_mut().filter(|one| **one != 0).for_each(visit);
    }
}

impl Input {
    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        match self {
            Self::Decide(sight, parts) => {
                sight.set.iter_mut().for_each(|set| set.versions(visit));
                sight.journal.iter_mut().for_each(|journal| journal.versions(visit));
                let last = parts.last.iter_mut().flatten();
                last.for_each(|set| set.versions(visit));
            }
            Self::Answer(reply) => {
                reply.set.iter_mut().for_each(|set| set.versions(visit));
                visit(&mut reply.journal);
            }
            Self::FailedRead | Self::Reach(_) => {}
        }
    }

    pub(super) fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        match self {
            Self::Decide(sight, parts) => {
                let journaled = sight.journal.iter_mut().map(|journal| &mut journal.set);
                let sets = sight.set.iter_mut().chain(journaled);
                let sets = sets.chain(parts.last.iter_mut().flatten());
                sets.for_each(|set| set.generations(visit));
            }
            Self::Answer(reply) => reply.set.iter_mut().for_each(|set| set.generations(visit)),
            Self::FailedRead | Self::Reach(_) => {}
        }
    }
}

impl SmallStep {
    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        match self {
            Self::WriteJournal(journal) => journal.versions(visit),
            Self::LetGo(set) | Self::Unmark(set, _) => set.versions(visit),
            Self::DeleteJournal(version)
            | Self::Mark((_, version), _)
            | Self::ScaleUp((_, version), _)
            | Self::RestorePartition((_, version), _)
            | Self::RestoreManagers((_, version))
            | Self::Delete {
                version: Some(version), ..
            } => visit(version),
            _ => {}
        }
    }

    pub(super) fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        match self {
            Self::WriteJournal(journal) => journal.set.generations(visit),
            Self::LetGo(set) | Self::Unmark(set, _) => set.generations(visit),
            _ => {}
        }
    }
}
