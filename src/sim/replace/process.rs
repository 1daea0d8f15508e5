//! A controller: it reads, decides and executes, as `controller::replacing::run` does.

use super::bugs::ReplaceBug;
use super::decision::{Answered, ReplaceDecisions};
use super::memory::{Polled, Quiet, ReadParts, SmallProcess, SmallSight, SmallStep};
use super::objects::{HELD, REVISION, SmallJournal, SmallSet, SmallStage};
use super::world::{Propagation, ReplaceWorld, SmallAnswer};
use crate::replace::Part;

impl SmallProcess {
    /// Reads if it has to, and decides.
    pub(super) fn decide(&mut self, world: &ReplaceWorld, decisions: &mut ReplaceDecisions) {
        let polled = self
            .memory
            .polled
            .take()
            .filter(|polled| world.set.is_some_and(|set| set.uid == polled.uid));
        let mut sight = self.sight.unwrap_or_else(|| {
            let is_believed = decisions.bug == ReplaceBug::AnswerEndsNamespace;
            let has_ended = |namespace: &mut u8| is_believed && *namespace == 0;
            (self.memory.namespace).take_if(|namespace| polled.is_none() && !has_ended(namespace));
            SmallSight::of(world, polled)
        });
        let bug = decisions.bug;
        let mut parts = ReadParts::default();
        let mut shown = self.memory;
        bug.show(&mut sight, &mut shown, world);
        let step = loop {
            match decisions.next(&sight, &shown, &parts) {
                Answered::Step(step) => break step,
                Answered::Read(part) => {
                    parts.fill(part, world);
                    bug.show_parts(&mut parts, &sight);
                    if let Some(namespace) = parts.namespace {
                        (self.memory.namespace, shown.namespace) = (Some(namespace), Some(namespace));
                    }
                }
            }
        };
        self.keep(&sight, step);
        match step {
            SmallStep::End => *self = Self::default(),
            SmallStep::Wait(settles) => {
                (self.sight, self.step) = (None, None);
                self.memory.polled = (!settles).then(|| sight.polled());
            }
            _ => (self.sight, self.step) = (Some(sight), Some(step)),
        }
    }

    fn keep(&mut self, sight: &SmallSight, step: SmallStep) {
        let memory = &mut self.memory;
        let retaining = sight.set.filter(SmallSet::retains);
        memory.retained_at = retaining.map(|set| memory.retained_at.unwrap_or(set.generation));
        match step {
            SmallStep::Mark(..) | SmallStep::WriteJournal(_) | SmallStep::DisownReport => {
                memory.checked = sight.set.filter(|set| !set.terminating).map(|set| set.checked());
            }
            SmallStep::Wait(true) if memory.quiet == Quiet::No => memory.quiet = Quiet::Since,
            SmallStep::Delete { .. } => memory.quiet = Quiet::No,
            _ => {}
        }
    }

    /// The step is not done, whatever the answer is. A code of somebody's webhook or of a proxy is no knowledge: everything
    /// is read again.
    pub(super) fn meet_denial(&mut self, bug: ReplaceBug) {
        let is_create = matches!(self.step.take(), Some(SmallStep::Create(_)));
        self.sight = None;
        if is_create && bug == ReplaceBug::AnswerEndsNamespace {
            self.memory.namespace = Some(0);
        }
    }

    /// Executes the step. The reply can be lost.
    pub(super) fn execute(
        &mut self,
        place: usize,
        world: &mut ReplaceWorld,
        bug: ReplaceBug,
        is_lost: bool,
    ) -> Option<&'static str> {
        let (Some(step), Some(sight)) = (self.step.take(), &mut self.sight) else {
            return None;
        };
        let answer = step.execute(world, sight, bug);
        if let (SmallStep::Create(_), SmallAnswer::Done, true) = (step, answer, world.truth.deleted) {
            if world.truth.creating & 1 << place == 0 {
                return Some("S17: a StatefulSet that a user deleted comes back");
            }
            world.truth.deleted = false;
        }
        if is_lost {
            self.sight = None;
            return None;
        }
        match (step, answer) {
            (SmallStep::WriteJournal(_) | SmallStep::DeleteJournal, SmallAnswer::Done) => sight.journal = world.journal,
            (SmallStep::DisownReport, SmallAnswer::Done) => sight.report = Some(0),
            (SmallStep::OwnReport(uid), SmallAnswer::Done) => sight.report = Some(uid),
            (SmallStep::LetGo(set), SmallAnswer::Done) => self.step = Some(SmallStep::AwaitDeletion(set.uid)),
            (SmallStep::AwaitDeletion(_), SmallAnswer::Done) => sight.set = None,
            (SmallStep::DeleteRevision(_), _) => self.sight = None,
            // The reply is the StatefulSet.
            (_, SmallAnswer::Done) if world.set.is_some() => sight.set = world.set,
            (
                SmallStep::Mark(..)
                | SmallStep::Unmark(..)
                | SmallStep::Delete { .. }
                | SmallStep::LetGo(_)
                | SmallStep::ScaleUp(..)
                | SmallStep::RestorePartition(..)
                | SmallStep::RestoreManagers(_),
                SmallAnswer::Conflict,
            ) => {
                self.memory.polled = Some(sight.polled());
                self.sight = None;
            }
            _ => self.sight = None,
        }
        match (step, answer) {
            (SmallStep::RestorePartition((uid, _), _), SmallAnswer::Done) => self.memory.verified = Some(uid),
            (SmallStep::RestoreManagers((uid, _)), SmallAnswer::Done) => self.memory.managers_restored = Some(uid),
            _ => {}
        }
        None
    }
}

impl SmallSight {
    /// Everything, or only the set while others are at work on it.
    fn of(world: &ReplaceWorld, polled: Option<Polled>) -> Self {
        Self {
            set: world.set,
            journal: polled.map_or(world.journal, |polled| polled.journal),
            report: polled.map_or(world.report.map(|report| report.owner), |polled| polled.report),
        }
    }

    fn polled(&self) -> Polled {
        Polled {
            uid: self.set.map_or(0, |set| set.uid),
            journal: self.journal,
            report: self.report,
        }
    }
}

impl SmallStep {
    fn execute(self, world: &mut ReplaceWorld, sight: &SmallSight, bug: ReplaceBug) -> SmallAnswer {
        let step = bug.sent(self, sight, world);
        match step {
            Self::WriteJournal(journal) => write_journal(world, sight, bug, Some(journal)),
            Self::DeleteJournal => write_journal(world, sight, bug, None),
            Self::DisownReport => own_report(world, 0),
            Self::OwnReport(uid) => own_report(world, uid),
            // The API server adds no finalizer to an object that is being deleted.
            Self::Mark(..) if world.set.is_some_and(|set| set.terminating && !set.ours) => SmallAnswer::Denied,
            Self::Mark(seen, retains) => world.change_version(seen, |set| {
                set.ours = true;
                set.retained_by_user &= !(set.deletes_claims && retains);
                set.deletes_claims &= !retains;
            }),
            // A status may have been written meanwhile.
            Self::Unmark(_, deletes_claims)
                if !world.set.zip(sight.set).is_none_or(|(set, seen)| {
                    set.is_as_marked(&seen) && (!deletes_claims || set.version == seen.version)
                }) =>
            {
                SmallAnswer::Conflict
            }
            Self::Unmark(_, deletes_claims) => world.change(|set| {
                set.ours = false;
                set.deletes_claims |= deletes_claims;
            }),
            Self::Delete { uid, version } => match world.set {
                Some(set) if set.uid != uid || version.is_some_and(|version| version != set.version) => {
                    SmallAnswer::Conflict
                }
                _ => world.delete(Propagation::Orphan),
            },
            Self::LetGo(object) => world.empty((object.uid, object.version)),
            Self::AwaitDeletion(uid) if world.last.is_some_and(|last| last.uid == uid) => SmallAnswer::Done,
            Self::AwaitDeletion(_) => SmallAnswer::Conflict,
            Self::Create(mut set) => {
                if world.surroundings.mutates {
                    set.image = 1;
                }
                world.create(set)
            }
            Self::ScaleUp(seen, replicas) => world.change_version(seen, |set| {
                (set.replicas, set.partition) = (replicas, HELD);
            }),
            Self::RestorePartition(seen, partition) => world.change_version(seen, |set| set.partition = partition),
            Self::RestoreManagers(seen) => world.change_version(seen, |set| set.managed_by_us = false),
            Self::DeleteRevision(number) => {
                world.dependents[REVISION][usize::from(number)] = None;
                SmallAnswer::Done
            }
            Self::Wait(_) | Self::End => SmallAnswer::Done,
        }
    }
}

fn write_journal(
    world: &mut ReplaceWorld,
    sight: &SmallSight,
    bug: ReplaceBug,
    journal: Option<SmallJournal>,
) -> SmallAnswer {
    let version = |journal: Option<SmallJournal>| journal.map(|journal| journal.version);
    if version(world.journal) != version(sight.journal) && bug != ReplaceBug::JournalWithoutVersion {
        return SmallAnswer::Conflict;
    }
    let version = world.next_version();
    world.journal = journal.map(|journal| SmallJournal { version, ..journal });
    if world.surroundings.backups {
        let is_bound = |journal: &SmallJournal| journal.stage != SmallStage::Prepared;
        world.backup = world.journal.filter(is_bound).or(world.backup);
    }
    SmallAnswer::Done
}

fn own_report(world: &mut ReplaceWorld, owner: u8) -> SmallAnswer {
    let Some(report) = &mut world.report else {
        return SmallAnswer::NotFound;
    };
    match owner {
        0 => report.orphan(),
        owner => report.own(owner),
    }
    SmallAnswer::Done
}

impl ReadParts {
    /// Reads a part.
    fn fill(&mut self, part: Part, world: &ReplaceWorld) {
        match part {
            Part::Guard => self.guard = Some(world.guard),
            Part::Quotas => self.room = Some(world.room),
            Part::Namespace => self.namespace = Some(if world.namespace_ends { 0 } else { world.namespace }),
            Part::LastVersion => self.last = Some(world.last),
            Part::DryRuns => self.dry_runs = true,
            Part::Dependents => {
                let mut read = world.dependents;
                // What the garbage collector knows is not to be seen.
                read.iter_mut().flatten().flatten().for_each(|one| one.known = true);
                self.dependents = Some(read);
            }
        }
    }
}
