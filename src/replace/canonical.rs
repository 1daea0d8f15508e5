//! What a [`Machine`] keeps, in a form in which two machines that go on alike are equal: for a search of all states.
//!
//! Of a resourceVersion it matters only whether it equals another one, of a generation only which one is larger, of a
//! time and of a count only which limit they have reached. Everything else is part of the text of the machine, so that
//! nothing is left out that a machine begins to keep.

use std::fmt::{self, Write};

use serde_json::{Value, json};

use super::journal::{Journal, Millis};
use super::live::LiveSet;
use super::machine::{CONFLICTS, Machine, MachineState, TRIES};
use super::memory::FRESH;
use super::next::SETTLING;
use super::objects::SetObjects;
use super::step::{SetVersion, Step};
use super::world::{LastVersion, PATIENCE};

/// Gives versions and generations other numbers.
pub trait Renumber {
    /// A resourceVersion.
    fn version(&mut self, version: &mut String);

    /// A generation of a StatefulSet.
    fn generation(&mut self, generation: &mut i64);
}

/// A limit for a time that a machine keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// After that, the results of the checks do not count any more.
    Checks,
    /// For so long, nothing must have referred to the old set.
    Settling,
    /// After that, what others should have done counts as stalled.
    Patience,
}

impl Machine<'_> {
    /// Gives every version and generation that the machine keeps another number, in an order that never changes.
    pub fn renumber(&mut self, numbers: &mut impl Renumber) {
        of_set(self.objects.set.as_mut(), numbers);
        of_journal(self.objects.journal.as_mut(), numbers);
        let versions = self.objects.journal_version.iter_mut();
        versions.for_each(|version| numbers.version(version));
        if let Some(LastVersion::Seen(last)) = &mut self.memory.last_version {
            of_set(Some(last), numbers);
        }
        let generations = self.memory.retained_at.iter_mut();
        generations.for_each(|generation| numbers.generation(generation));
        if let Some((_, [set, journal, _])) = &mut self.memory.overtaken {
            let versions = [set, journal].into_iter().flatten();
            versions.for_each(|version| numbers.version(version));
        }
    }

    /// Lets so much time pass that this limit is reached. The time itself does not change: what is kept becomes older.
    pub fn reach(&mut self, limit: Limit, now: Millis) {
        let memory = &mut self.memory;
        let kept = match limit {
            Limit::Checks => memory.checked_at.as_mut(),
            Limit::Settling => memory.unreferenced_since.as_mut(),
            Limit::Patience => memory.waits.as_mut().map(|(_, since)| since),
        };
        if let Some(kept) = kept {
            *kept = now.saturating_sub(limit.millis());
        }
    }

    /// True iff this limit is yet to be reached.
    #[must_use]
    pub fn awaits(&self, limit: Limit, now: Millis) -> bool {
        let kept = match limit {
            Limit::Checks => self.memory.checked_at,
            Limit::Settling => self.memory.unreferenced_since,
            Limit::Patience => self.memory.waits.map(|(_, since)| since),
        };
        kept.is_some_and(|kept| now.saturating_sub(kept) < limit.millis())
    }

    /// Replaces each count by the one that goes on alike: of failures the least, and of conflicts the one before the limit.
    pub fn bound_counts(&mut self) {
        self.failures = self.failures.min(TRIES + 1);
        self.conflicts = if self.conflicts == 0 { 0 } else { CONFLICTS };
    }

    /// Ends a pause, and forgets what the machine reads before it uses it again. No step of it must be under way.
    pub fn forget_unused(&mut self) {
        if let MachineState::Pause { only_set, .. } = self.state {
            self.state = MachineState::Observe { only_set };
        }
        match self.state {
            MachineState::Observe { only_set: false } => {
                self.objects = SetObjects::default();
                self.memory.forget_reads();
            }
            MachineState::Observe { only_set: true } => {
                let identity = |set: LiveSet| LiveSet::new(json!({"metadata": {"uid": set.uid()}}));
                self.objects.set = self.objects.set.take().map(identity);
            }
            _ => {}
        }
    }

    /// True iff the next decision is made without a read.
    #[must_use]
    pub const fn knows(&self) -> bool {
        matches!(self.state, MachineState::Decide)
    }

    /// Writes everything that the machine keeps. Its settings are not its own, and what it has reported is behind it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_kept(&self, text: &mut impl Write) -> fmt::Result {
        let Self {
            settings: _,
            allows: _,
            notices: _,
            kind,
            memory,
            state,
            objects,
            failures,
            conflicts,
            record,
            has_begun,
        } = self;
        write!(
            text,
            "{kind:?} {memory:?} {state:?} {objects:?} {failures} {conflicts} {record:?} {has_begun}"
        )
    }
}

impl Limit {
    const fn millis(self) -> Millis {
        match self {
            Self::Checks => FRESH,
            Self::Settling => SETTLING,
            Self::Patience => PATIENCE,
        }
    }
}

impl Step {
    /// As [`Machine::renumber`].
    pub fn renumber(&mut self, numbers: &mut impl Renumber) {
        match self {
            Self::WriteJournal(journal) => of_journal(Some(journal), numbers),
            Self::LetGo(object) => of_object(object, numbers),
            Self::Delete {
                resource_version: Some(version),
                ..
            } => numbers.version(version),
            Self::Mark(set)
            | Self::ScaleUp { set, .. }
            | Self::RestoreStaged { set, .. }
            | Self::RestoreStrategy { set, .. }
            | Self::RestoreManagers { set, .. } => of_version(set, numbers),
            Self::Unmark { set, generation, .. } => {
                of_version(set, numbers);
                numbers.generation(generation);
            }
            Self::Delete { .. }
            | Self::Read(_)
            | Self::DisownReport
            | Self::Create(_)
            | Self::DeleteRevision { .. }
            | Self::OwnReport { .. }
            | Self::DeleteJournal
            | Self::LeaveForeign(_)
            | Self::Wait { .. }
            | Self::End(_) => {}
        }
    }
}

fn of_version(set: &mut SetVersion, numbers: &mut impl Renumber) {
    numbers.version(&mut set.resource_version);
}

fn of_set(set: Option<&mut LiveSet>, numbers: &mut impl Renumber) {
    if let Some(set) = set {
        let mut object = set.object().clone();
        of_object(&mut object, numbers);
        *set = LiveSet::new(object);
    }
}

fn of_journal(journal: Option<&mut Journal>, numbers: &mut impl Renumber) {
    if let Some(journal) = journal {
        of_object(&mut journal.set, numbers);
        *journal = journal.clone().hashed();
    }
}

fn of_object(object: &mut Value, numbers: &mut impl Renumber) {
    if let Some(Value::String(version)) = object.pointer_mut("/metadata/resourceVersion") {
        numbers.version(version);
    }
    for pointer in ["/metadata/generation", "/status/observedGeneration"] {
        if let Some(value) = object.pointer_mut(pointer)
            && let Some(mut generation) = value.as_i64()
        {
            numbers.generation(&mut generation);
            *value = generation.into();
        }
    }
}
