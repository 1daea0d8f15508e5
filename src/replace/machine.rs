//! One replacement, from its first step to its end: what it remembers, reads, writes, repeats, waits for and reports.
//! A value, without I/O and without a clock.
//!
//! [`Machine::next`] returns what to do. The caller does it, and hands over what came of it: [`observed`],
//! [`observed_set`], [`filled`], [`answered`] or [`failed`]. After a [`ReplaceTask::Pause`] it asks again. A step may be
//! [`postponed`]; else it [`executes`], and that cannot be undone.
//!
//! [`observed`]: Machine::observed
//! [`observed_set`]: Machine::observed_set
//! [`filled`]: Machine::filled
//! [`answered`]: Machine::answered
//! [`failed`]: Machine::failed
//! [`postponed`]: Machine::postponed
//! [`executes`]: Machine::executes

use super::journal::Millis;
use super::live::LiveSet;
use super::memory::{Consequence, Memory};
use super::next::next;
use super::notice::{Ended, Happened, Notice};
use super::objects::{Allows, SetObjects};
use super::record::RunRecord;
use super::step::{Fault, MARK, Part, Step, Waits};
use super::task::{MachineKind, PauseCause, ReplaceTask, Reply, StartFrom};
use super::world::{LastVersion, ReportOwner, World};
use crate::api::{ApiOutcome, ReplacementReason, Settings};

/// The pauses after a failed step: the first while the set does not exist, and otherwise; the longest.
const PAUSES: [(Millis, Millis); 2] = [(50, 1_000), (1_000, 60_000)];

/// After this many failures before the first write, the set is not replaced for now.
pub(super) const TRIES: u32 = 2;

/// After this many conflicts in a row, steps pause in between.
pub(super) const CONFLICTS: u32 = 50;

/// The pause after such a conflict.
const AFTER_CONFLICT: Millis = 100;

/// A replacement in progress. After a crash another one goes on without it.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    pub(super) settings: &'a Settings,
    pub(super) allows: Allows,
    pub(super) kind: MachineKind,
    pub(super) memory: Memory,
    pub(super) state: MachineState<'a>,
    pub(super) objects: SetObjects,
    pub(super) failures: u32,
    pub(super) conflicts: u32,
    pub(super) record: RunRecord,
    /// True iff a step that writes was executed.
    pub(super) has_begun: bool,
    pub(super) notices: Vec<Notice>,
}

#[derive(Clone, Debug)]
pub(super) enum MachineState<'a> {
    /// The objects are to be read: all of them, or only the set if it is still the one that is known.
    Observe {
        only_set: bool,
    },
    Decide,
    /// The decision goes on in this world.
    Filled(Box<World<'a>>),
    Pause {
        millis: Millis,
        cause: PauseCause,
        /// What is to be read then.
        only_set: bool,
    },
    End(Ended),
}

impl<'a> Machine<'a> {
    /// A replacement that goes on from there.
    #[must_use]
    pub fn new(settings: &'a Settings, allows: Allows, kind: MachineKind, from: StartFrom) -> Self {
        Self {
            settings,
            allows,
            kind,
            memory: Memory::default(),
            state: MachineState::ALL,
            objects: SetObjects::default(),
            failures: 0,
            conflicts: 0,
            record: RunRecord::new(from == StartFrom::Absent),
            has_begun: from != StartFrom::Nothing,
            notices: Vec::new(),
        }
    }

    /// The objects as they are known: those that were read, and what the replies to writes have shown since.
    #[must_use]
    pub const fn objects(&self) -> &SetObjects {
        &self.objects
    }

    /// True iff a step that writes was executed, by this process or another one.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// True iff the set was let go and is yet to be created: nothing must be waited for.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        self.record.is_absent
    }

    /// True iff all is to be read before the next decision: it may wait until then for the replacements of others.
    #[must_use]
    pub const fn is_between_rounds(&self) -> bool {
        matches!(self.state, MachineState::Observe { .. })
    }

    /// What was reported since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// True iff the replacement ends before its next step because the process stops. A user who stops while the set is
    /// absent means after its creation.
    #[must_use]
    pub fn stops(&self, stopping: bool) -> bool {
        stopping && !(self.kind.is_forced() && self.record.is_absent)
    }

    /// What to do next. If the process stops, the replacement ends here; a set that was let go is created first.
    pub fn next(&mut self, now: Millis, stopping: bool) -> ReplaceTask<'a> {
        let stops = self.stops(stopping);
        match std::mem::replace(&mut self.state, MachineState::ALL) {
            MachineState::Observe { .. } if stops => ReplaceTask::End(None, Ended::Stopped),
            MachineState::Decide if stops && !self.objects.is_let_go() => ReplaceTask::End(None, Ended::Stopped),
            MachineState::Observe { only_set: false } => ReplaceTask::Observe,
            state @ MachineState::Observe { only_set: true } => {
                self.state = state;
                ReplaceTask::ObserveSet
            }
            MachineState::Decide => self.decide(now),
            MachineState::Filled(world) => self.decide_in(world),
            MachineState::Pause {
                millis,
                cause,
                only_set,
            } => self.pause(millis, cause, only_set),
            MachineState::End(ended) => ReplaceTask::End(None, ended),
        }
    }

    /// Hands over the objects that were read.
    pub fn observed(&mut self, objects: SetObjects) {
        self.memory.forget_reads();
        self.objects = objects;
        self.begin_round();
    }

    /// Hands over the set that was read. If it is another one, all objects are to be read: a CREATE names no version of
    /// the journal.
    pub fn observed_set(&mut self, set: Option<LiveSet>) {
        let before = self.objects.uid();
        self.objects.set = set;
        if self.objects.set.is_some() && self.objects.uid() == before {
            self.begin_round();
        } else {
            self.state = MachineState::ALL;
        }
    }

    fn begin_round(&mut self) {
        self.record.observed(&self.objects);
        self.state = MachineState::Decide;
    }

    /// Hands over the world in which the part was filled in.
    pub fn filled(&mut self, world: Box<World<'a>>) {
        self.state = MachineState::Filled(world);
    }

    fn decide(&mut self, now: Millis) -> ReplaceTask<'a> {
        let mut world = self.objects.world(now, self.settings, self.allows, self.kind);
        self.memory.show(&mut world);
        self.decide_in(Box::new(world))
    }

    fn decide_in(&mut self, mut world: Box<World<'a>>) -> ReplaceTask<'a> {
        let step = loop {
            match next(&world) {
                // Without the object, nothing is worth waiting longer for.
                Step::Read(Part::LastVersion) if self.failures >= TRIES => {
                    world.last_version = Some(LastVersion::Unknown);
                }
                Step::Read(part) => return ReplaceTask::Fill(world, part),
                step => break step,
            }
        };
        self.memory.keep(&world, &step);
        match step {
            Step::End(end) => {
                let ended = self.record.ended(end, &self.objects, self.kind.is_forced());
                ReplaceTask::End(self.objects.uid(), ended)
            }
            Step::Wait { millis, waits } => self.wait(millis, waits),
            step => ReplaceTask::Write(step),
        }
    }

    fn wait(&mut self, millis: Millis, waits: Waits) -> ReplaceTask<'a> {
        let only_set = matches!(waits, Waits::Others(_));
        let is_orphaning = self.objects.set.as_ref().is_some_and(LiveSet::is_orphaning);
        let cause = match waits {
            Waits::Settling => PauseCause::Settling,
            Waits::Others(_) | Waits::Stalled(_) if is_orphaning => PauseCause::Collecting,
            Waits::Others(_) | Waits::Stalled(_) => PauseCause::Others,
        };
        if let Waits::Stalled(fault) = waits {
            self.notify(Happened::Stalled(fault));
        }
        self.memory.forget_dependents();
        self.pause(millis, cause, only_set)
    }

    fn pause(&mut self, millis: Millis, cause: PauseCause, only_set: bool) -> ReplaceTask<'a> {
        self.state = MachineState::Observe { only_set };
        ReplaceTask::Pause(millis, cause)
    }

    /// The step is executed now. Nobody else of this process writes to the set from now on.
    pub fn executes(&mut self, step: &Step) {
        self.has_begun = true;
        self.notify(Happened::Step(step.name()));
    }

    /// The step is not executed now, because a reconcile of the set ends first.
    pub fn postponed(&mut self) {
        self.state = MachineState::ALL;
    }

    /// Hands over what came of this write.
    pub fn answered(&mut self, step: &Step, written: ApiOutcome<Reply>, now: Millis) {
        let objects = (self.objects.set.as_ref(), self.objects.journal.as_ref());
        let versions = self.objects.versions();
        let consequence = (self.memory).answered(objects, versions, (step, step.name()), &written);
        match (consequence, written) {
            (Consequence::Done, ApiOutcome::Done(reply)) => {
                (self.failures, self.conflicts) = (0, 0);
                self.done(step, reply, now);
            }
            (Consequence::Done | Consequence::TakenBack, _) => self.postponed(),
            (Consequence::ReadAgain, written) => {
                self.conflicts += 1;
                // Others may write to the set all the time: the next try comes as soon as possible.
                let is_there = !matches!(written, ApiOutcome::NotFound(_));
                let only_set = is_there && step.is_of_version();
                self.state = if self.conflicts > CONFLICTS {
                    MachineState::Pause {
                        millis: AFTER_CONFLICT,
                        cause: PauseCause::Conflicts,
                        only_set,
                    }
                } else {
                    MachineState::Observe { only_set }
                };
            }
            (Consequence::Stalled(fault), _) => {
                self.notify(Happened::Stalled(fault));
                self.failed(String::new());
            }
            (Consequence::TryAgain, written) => self.failed(written.why()),
        }
    }

    /// Hands over why a read failed.
    pub fn failed(&mut self, why: String) {
        if !self.has_begun && self.failures >= TRIES {
            // The set is rolled out again meanwhile.
            self.state = MachineState::End(Ended::Refused(Fault::new(ReplacementReason::StepDenied, why)));
            return;
        }
        let [absent, present] = PAUSES;
        let (first, longest) = if self.record.is_absent { absent } else { present };
        let millis = (first << self.failures.min(10)).min(longest);
        self.failures += 1;
        if self.failures > TRIES && !why.is_empty() {
            let what = Happened::Stalled(Fault::new(ReplacementReason::StepDenied, why.clone()));
            self.report(None, None, what);
        }
        self.state = MachineState::Pause {
            millis,
            cause: PauseCause::Failure(why),
            only_set: false,
        };
    }

    /// Shows the reply in the objects, if the next decision needs no read for that.
    fn done(&mut self, step: &Step, reply: Reply, now: Millis) {
        for what in self.record.done(step, &self.objects, now) {
            self.notify(what);
        }
        self.state = MachineState::Decide;
        let objects = &mut self.objects;
        match (step, reply) {
            (Step::WriteJournal(journal), Reply::Journal([uid, version])) => {
                objects.journal = Some(journal.as_ref().clone());
                (objects.secret, objects.journal_version) = (uid, version);
            }
            (Step::DeleteJournal | Step::LeaveForeign(_), _) => {
                (objects.journal, objects.secret, objects.journal_version) = (None, None, None);
            }
            (Step::LetGo(_), _) => objects.set = None,
            (_, Reply::Set(set)) => objects.set = Some(set),
            (_, Reply::Report(owner)) if objects.report != ReportOwner::NoReport => objects.report = owner,
            _ => self.postponed(),
        }
    }

    fn notify(&mut self, what: Happened) {
        let replicas = self.objects.old_replicas(what == Happened::Step(MARK));
        self.report(self.objects.uid(), replicas, what);
    }

    fn report(&mut self, uid: Option<String>, replicas: Option<i64>, what: Happened) {
        self.notices.push(Notice {
            uid,
            replicas,
            is_absent: self.record.is_absent,
            what,
        });
    }
}

impl MachineState<'_> {
    /// All objects are to be read.
    const ALL: Self = Self::Observe { only_set: false };
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
