//! The real machine, which the controllers of the model are: each machine that differs is kept once, under a number.
//!
//! What a machine does with an input follows from both alone, so it is asked once for each pair. Versions and
//! generations are numbered anew before that: a machine numbers those that it keeps from 1 on.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::bugs::ReplaceBug;
use super::manifests::{NOW, live, number_of, objects_of, report_of, small_step, written_journal};
use super::memory::{
    Facts, Input, KnownNumbers, Limit, ReadParts, Reports, SmallProcess, SmallReply, SmallSight, SmallStep,
};
use super::numbers::{Collected, Frame, Renumbered};
use super::objects::SmallAnswer;
use crate::api::{ApiOutcome, Settings};
use crate::replace::{
    Ended, Happened, Machine, MachineKind, Part, PauseCause, ReplaceTask, Reply, Stage, StartFrom, Step,
};

static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);

/// What came of an input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decided {
    /// This part of the world is to be read first.
    Ask(Part),
    /// The controller, and what it reported.
    After(SmallProcess, Reports),
}

/// All machines that were met, what each did so far, and the bug that is planted around them.
#[derive(Debug)]
pub(super) struct Machines {
    pub(super) bug: ReplaceBug,
    met: Vec<Met>,
    numbers: FxHashMap<u64, u32>,
    known: FxHashMap<(u32, KnownNumbers, Input), Decided>,
}

/// A machine, with the step that it has decided.
#[derive(Clone, Debug, Default)]
struct Met {
    machine: Option<Machine<'static>>,
    step: Option<Step>,
    small: Option<SmallStep>,
    reads: ReadsFirst,
    /// The uid of the set that it knows.
    uid: u8,
    facts: Facts,
}

/// What a machine reads before it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadsFirst {
    #[default]
    All,
    Set,
    Nothing,
}

impl Default for Machines {
    fn default() -> Self {
        Self::with(ReplaceBug::None)
    }
}

impl Machines {
    pub(super) fn with(bug: ReplaceBug) -> Self {
        Self {
            bug,
            met: vec![Met::default()],
            numbers: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// The step that the controller is to execute.
    pub(super) fn step(&self, process: &SmallProcess) -> Option<SmallStep> {
        let mut step = self.met[process.machine as usize].small?;
        let number = |known: &KnownNumbers, local: &mut u8| {
            if *local != 0 {
                *local = known[usize::from(*local) - 1];
            }
        };
        step.versions(&mut |version| number(&process.versions, version));
        step.generations(&mut |generation| number(&process.generations, generation));
        Some(step)
    }

    /// Decides, with the parts that were read so far.
    pub(super) fn decide(&mut self, process: &SmallProcess, sight: &SmallSight, parts: &ReadParts) -> Decided {
        let met = &self.met[process.machine as usize];
        // It reads everything if it finds another set.
        let is_known = sight.set.is_some_and(|set| set.uid == met.uid);
        let sight = match met.reads {
            ReadsFirst::Set if is_known => SmallSight {
                set: sight.set,
                ..SmallSight::default()
            },
            ReadsFirst::All | ReadsFirst::Set => *sight,
            ReadsFirst::Nothing => SmallSight::default(),
        };
        self.ask(process, Input::Decide(sight, *parts))
    }

    /// Hands over anything else.
    pub(super) fn hand(&mut self, process: &SmallProcess, input: Input) -> (SmallProcess, Reports) {
        match self.ask(process, input) {
            Decided::Ask(part) => unreachable!("{part:?} for {input:?}"),
            Decided::After(after, reports) => (after, reports),
        }
    }

    /// What the machine does, in the numbers of the world.
    fn ask(&mut self, process: &SmallProcess, input: Input) -> Decided {
        let (frame, input) = Frame::of(process, input);
        let key = (process.machine, frame.generations_of(process), input);
        let answered = match self.known.get(&key) {
            Some(answered) => *answered,
            None => {
                let answered = self.run(&key);
                self.known.insert(key, answered);
                answered
            }
        };
        match answered {
            Decided::Ask(_) => answered,
            Decided::After(mut after, reports) => {
                frame.restore(&mut after);
                Decided::After(after, reports)
            }
        }
    }

    fn run(&mut self, (number, generations, input): &(u32, KnownNumbers, Input)) -> Decided {
        let met = &self.met[*number as usize];
        let (mut machine, mut step) = (met.machine.clone(), met.step.clone());
        let mut numbers = Renumbered::back(generations);
        machine.iter_mut().for_each(|machine| machine.renumber(&mut numbers));
        step.iter_mut().for_each(|step| step.renumber(&mut numbers));
        let mut run = MachineRun {
            bug: self.bug,
            machine,
            reports: Reports::default(),
        };
        let step = match input {
            Input::Decide(sight, parts) => match run.decide(sight, parts) {
                Ok(step) => step,
                Err(part) => return Decided::Ask(part),
            },
            Input::FailedRead => run.fail_read(step),
            Input::Answer(reply) => run.answer(step.as_ref(), reply),
            Input::Reach(limit) => {
                if !self.bug.forgets(*limit) {
                    run.machine.iter_mut().for_each(|machine| machine.reach(*limit, NOW));
                }
                step
            }
        };
        Decided::After(self.meet(run.machine, step), run.reports)
    }

    /// The controller with this machine and its step.
    fn meet(&mut self, machine: Option<Machine<'static>>, mut step: Option<Step>) -> SmallProcess {
        let Some(mut machine) = machine else {
            return SmallProcess::default();
        };
        machine.bound_counts();
        if step.is_none() {
            machine.forget_unused();
        }
        let mut found = Collected::default();
        machine.renumber(&mut found);
        step.iter_mut().for_each(|step| step.renumber(&mut found));
        let mut numbers = found.renumbered();
        machine.renumber(&mut numbers);
        step.iter_mut().for_each(|step| step.renumber(&mut numbers));
        let next = u32::try_from(self.met.len()).unwrap_or(u32::MAX);
        let mut text = Hashed(DefaultHasher::new());
        machine.write_kept(&mut text).unwrap_or_default();
        std::fmt::Write::write_fmt(&mut text, format_args!("{step:?}")).unwrap_or_default();
        let number = *self.numbers.entry(text.0.finish()).or_insert(next);
        if number == next {
            self.met.push(Met::of(machine, step));
        }
        SmallProcess {
            machine: number,
            facts: self.met[number as usize].facts,
            versions: found.versions(),
            generations: found.generations(),
            ..SmallProcess::default()
        }
    }
}

/// The text of a machine, as one number.
struct Hashed(DefaultHasher);

impl std::fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Met {
    fn of(machine: Machine<'static>, step: Option<Step>) -> Self {
        let knows = step.is_none() && machine.knows();
        let facts = Facts {
            has_step: step.is_some(),
            knows,
            creates: (step.is_some() || knows) && machine.objects().set.is_none(),
            settles: machine.awaits(Limit::Settling, NOW),
            is_checked: machine.awaits(Limit::Checks, NOW),
            waits: machine.awaits(Limit::Patience, NOW),
        };
        let reads = if knows {
            ReadsFirst::Nothing
        } else {
            reads(machine.clone())
        };
        Self {
            uid: machine.objects().uid().map_or(0, |uid| number_of(&uid)),
            small: step.as_ref().map(|step| small_step(step, machine.objects())),
            machine: Some(machine),
            step,
            reads,
            facts,
        }
    }
}

fn reads(mut machine: Machine<'static>) -> ReadsFirst {
    loop {
        match machine.next(NOW, false) {
            ReplaceTask::Pause(..) => {}
            ReplaceTask::Observe => return ReadsFirst::All,
            ReplaceTask::ObserveSet => return ReadsFirst::Set,
            _ => return ReadsFirst::Nothing,
        }
    }
}

/// One machine, and what it does with one input.
struct MachineRun {
    bug: ReplaceBug,
    /// None if no replacement is in progress.
    machine: Option<Machine<'static>>,
    reports: Reports,
}

impl MachineRun {
    /// Goes on until it has decided, or asks for a part that was not read. Returns the step.
    fn decide(&mut self, sight: &SmallSight, parts: &ReadParts) -> Result<Option<Step>, Part> {
        let mut machine = (self.machine.take()).unwrap_or_else(|| self.bug.begin(sight));
        let mut step = None;
        let goes_on = loop {
            match machine.next(NOW, false) {
                ReplaceTask::Observe => machine.observed(objects_of(sight)),
                ReplaceTask::ObserveSet => machine.observed_set(sight.set.as_ref().map(live)),
                ReplaceTask::Fill(mut world, part) => {
                    if parts.show(&mut world, part) {
                        machine.filled(world);
                    } else if parts.fails {
                        self.bug.fail(&mut machine, part);
                        break true;
                    } else {
                        return Err(part);
                    }
                }
                ReplaceTask::Write(decided) => {
                    step = Some(decided);
                    break true;
                }
                ReplaceTask::Pause(_, PauseCause::Failure(_) | PauseCause::Conflicts) => {}
                ReplaceTask::Pause(..) => break true,
                ReplaceTask::End(_, ended) => {
                    self.reports.replaced = ended == Ended::Replaced;
                    break false;
                }
            }
        };
        self.report(&mut machine);
        if self.bug == ReplaceBug::NoSecondPass {
            machine.reach(Limit::Settling, NOW);
        }
        self.machine = goes_on.then_some(machine);
        Ok(step)
    }

    /// The next read fails, if there is one.
    fn fail_read(&mut self, step: Option<Step>) -> Option<Step> {
        let mut machine = self.machine.take()?;
        if step.is_none() && !machine.knows() {
            machine.failed("the API server is away".to_owned());
        }
        self.report(&mut machine);
        self.machine = Some(machine);
        step
    }

    fn answer(&mut self, step: Option<&Step>, reply: &SmallReply) -> Option<Step> {
        let (Some(mut machine), Some(step)) = (self.machine.take(), step) else {
            return None;
        };
        machine.executes(step);
        let is_done = reply.answer == SmallAnswer::Done;
        if self.bug == ReplaceBug::ReportsBeforeWrite {
            let mut hopeful = machine.clone();
            hopeful.answered(step, ApiOutcome::Done(Reply::Nothing), NOW);
            self.report(&mut hopeful);
        }
        self.reports.replaced = self.bug == ReplaceBug::EndsWithCreate && is_done && matches!(step, Step::Create(_));
        match written(step, reply) {
            Some(written) => machine.answered(step, written, NOW),
            None => machine.postponed(),
        }
        self.report(&mut machine);
        self.machine = Some(machine);
        None
    }

    fn report(&mut self, machine: &mut Machine<'static>) {
        let mut notices = machine.notices().into_iter();
        self.reports.absent |= notices.any(|notice| matches!(notice.what, Happened::Absent(_)));
    }
}

impl ReplaceBug {
    /// A machine that begins with what is there.
    fn begin(self, sight: &SmallSight) -> Machine<'static> {
        let journal = objects_of(sight).journal;
        let is_marked = sight.set.is_some_and(|set| set.ours);
        let from = match journal.map(|journal| journal.stage) {
            Some(Stage::Releasing) => StartFrom::Absent,
            Some(_) => StartFrom::Begun,
            None if is_marked || self == Self::TriesForEver => StartFrom::Begun,
            None => StartFrom::Nothing,
        };
        Machine::new(&SETTINGS, |_, _| Ok(()), MachineKind::Controller, from)
    }

    /// A part cannot be read.
    fn fail(self, machine: &mut Machine<'static>, part: Part) {
        if self == Self::LastVersionAwaited && part == Part::LastVersion {
            *machine = Machine::new(&SETTINGS, |_, _| Ok(()), MachineKind::Controller, StartFrom::Absent);
        }
        machine.failed("it cannot be read".to_owned());
    }
}

/// The answer, as the controller gets it. None if a planted bug forgets it.
fn written(step: &Step, reply: &SmallReply) -> Option<ApiOutcome<Reply>> {
    let message = || "somebody's text".to_owned();
    Some(match reply.answer {
        SmallAnswer::Done => ApiOutcome::Done(match step {
            Step::WriteJournal(_) => Reply::Journal(written_journal(reply.journal)),
            Step::DisownReport | Step::OwnReport { .. } => Reply::Report(report_of(reply.report)),
            Step::DeleteJournal | Step::LeaveForeign(_) | Step::LetGo(_) | Step::DeleteRevision { .. } => {
                Reply::Nothing
            }
            _ => reply.set.as_ref().map_or(Reply::Nothing, |set| Reply::Set(live(set))),
        }),
        SmallAnswer::Conflict => ApiOutcome::Conflict(message()),
        SmallAnswer::NotFound => ApiOutcome::NotFound(message()),
        SmallAnswer::Denied => ApiOutcome::denied("Forbidden", message()),
        SmallAnswer::Unsure => ApiOutcome::unsure(message()),
        SmallAnswer::Forgotten => return None,
    })
}
