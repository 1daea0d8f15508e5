//! A controller: it reads what its machine asks for, sends what it decides, and hands back the answer.

use super::bugs::ReplaceBug;
use super::machines::{Decided, Machines};
use super::memory::{Input, Limit, ReadParts, Reports, SmallProcess, SmallReply, SmallSight, SmallStep};
use super::objects::{HELD, REVISION, SmallAnswer, SmallJournal, SmallSet, SmallStage};
use super::world::{Propagation, ReplaceWorld};
use crate::replace::Part;

impl SmallProcess {
    /// Reads what it has to, and decides.
    pub(super) fn decide(&mut self, world: &ReplaceWorld, machines: &mut Machines) -> Option<&'static str> {
        let bug = machines.bug;
        let mut sight = SmallSight::of(world);
        bug.show(&mut sight, self.machine == 0, world);
        let mut parts = ReadParts::default();
        loop {
            match machines.decide(self, &sight, &parts) {
                Decided::Ask(part) => {
                    parts.fill(part, world);
                    bug.show_parts(&mut parts, &sight, self.is_misled);
                }
                Decided::After(after, reports) => {
                    *self = after;
                    let deletes = matches!(machines.step(self), Some(SmallStep::Delete { version: Some(_), .. }));
                    if deletes && !world.guard && world.truth.unguarded {
                        return Some("S17: a StatefulSet is deleted although its guard was removed long ago");
                    }
                    return world.misreported(reports);
                }
            }
        }
    }

    /// The next read fails.
    pub(super) fn fail_read(&mut self, machines: &mut Machines) {
        *self = machines.hand(self, Input::FailedRead).0;
    }

    /// So much time has passed.
    pub(super) fn reach(&mut self, limit: Limit, machines: &mut Machines) {
        let older = machines.hand(self, Input::Reach(limit)).0;
        *self = Self {
            emptied: self.emptied,
            is_misled: self.is_misled,
            ..older
        };
    }

    /// The step is not done, and answered so.
    pub(super) fn meet(
        &mut self,
        answer: SmallAnswer,
        world: &ReplaceWorld,
        machines: &mut Machines,
    ) -> Option<&'static str> {
        let is_create = matches!(machines.step(self), Some(SmallStep::Create(_)));
        let broken = self.answer(SmallReply::of(answer), world, machines);
        self.is_misled = is_create && machines.bug == ReplaceBug::AnswerEndsNamespace;
        broken
    }

    /// Executes the step. The reply can be lost.
    pub(super) fn execute(
        &mut self,
        place: usize,
        world: &mut ReplaceWorld,
        machines: &mut Machines,
        is_lost: bool,
    ) -> Option<&'static str> {
        let step = machines.step(self)?;
        let mut reply = if self.emptied == 0 {
            step.execute(world, machines.bug)
        } else {
            let is_deleted = world.last.is_some_and(|last| last.uid == self.emptied);
            SmallReply::of(if is_deleted {
                SmallAnswer::Done
            } else {
                SmallAnswer::Conflict
            })
        };
        let is_done = reply.answer == SmallAnswer::Done;
        if let (SmallStep::Create(_), true, true) = (step, is_done, world.truth.deleted) {
            if world.truth.creating & 1 << place == 0 {
                return Some("S17: a StatefulSet that a user deleted comes back");
            }
            world.truth.deleted = false;
        }
        if is_lost {
            reply = SmallReply::of(SmallAnswer::Unsure);
        } else if let (SmallStep::LetGo(set), true, 0) = (step, is_done, self.emptied) {
            self.emptied = set.uid;
            return None;
        }
        self.answer(reply, world, machines)
    }

    fn answer(&mut self, mut reply: SmallReply, world: &ReplaceWorld, machines: &mut Machines) -> Option<&'static str> {
        reply.answer = machines.bug.answer(reply.answer);
        if let Some(set) = reply.set {
            let mut sight = SmallSight {
                set: Some(set),
                ..SmallSight::of(world)
            };
            machines.bug.show(&mut sight, false, world);
            reply.set = sight.set;
        }
        let (after, reports) = machines.hand(self, Input::Answer(reply));
        *self = after;
        world.misreported(reports)
    }
}

impl ReplaceWorld {
    /// Why a report is not true.
    fn misreported(&self, reports: Reports) -> Option<&'static str> {
        let is_new = self.uids > 1;
        if (reports.absent || reports.replaced) && !is_new {
            return Some("L7: a replacement is reported that is not done");
        }
        // Of two controllers, one may be late with another journal.
        let is_left = self.journal.is_some_and(|journal| !journal.restored) && self.processes[1].is_none();
        (reports.replaced && is_left).then_some("L7: the end of a replacement is reported that has not ended")
    }
}

impl SmallSight {
    fn of(world: &ReplaceWorld) -> Self {
        Self {
            set: world.set,
            journal: world.journal,
            report: world.report.map(|report| report.owner),
        }
    }
}

impl SmallStep {
    fn execute(self, world: &mut ReplaceWorld, bug: ReplaceBug) -> SmallReply {
        let before = world.set;
        let step = bug.sent(self, world);
        let answer = match world.surroundings.answers_mark {
            Some(answer) if matches!(step, Self::Mark(..)) => answer,
            _ => step.send(world, bug),
        };
        let mut reply = SmallReply::of(answer);
        match step {
            _ if answer != SmallAnswer::Done => {}
            Self::WriteJournal(_) => reply.journal = world.journal.map_or(0, |journal| journal.version),
            Self::DisownReport | Self::OwnReport(_) => reply.report = world.report.map(|report| report.owner),
            Self::DeleteJournal(_) | Self::LetGo(_) | Self::DeleteRevision(_) => {}
            // The API server returns an object whose last finalizer was removed.
            Self::Unmark(..) => reply.set = world.set.or(before.map(|set| SmallSet { ours: false, ..set })),
            _ => reply.set = world.set,
        }
        reply
    }

    fn send(self, world: &mut ReplaceWorld, bug: ReplaceBug) -> SmallAnswer {
        match self {
            Self::WriteJournal(journal) => write_journal(world, journal.version, bug, Some(journal)),
            Self::DeleteJournal(version) => write_journal(world, version, bug, None),
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
            Self::Unmark(seen, deletes_claims)
                if !world
                    .set
                    .is_none_or(|set| set.is_as_marked(&seen) && (!deletes_claims || set.version == seen.version)) =>
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
            Self::Nothing => SmallAnswer::Done,
        }
    }
}

fn write_journal(world: &mut ReplaceWorld, seen: u8, bug: ReplaceBug, journal: Option<SmallJournal>) -> SmallAnswer {
    let version = world.journal.map_or(0, |journal| journal.version);
    if version != seen && bug != ReplaceBug::JournalWithoutVersion {
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
        if world.surroundings.unread == Some(part) {
            self.fails = true;
            return;
        }
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
