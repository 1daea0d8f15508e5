//! A controller process in the model: it reads and writes as the replacement asks for, as the shell of the controller does.

use std::sync::LazyLock;

use super::api_server;
use super::cluster::{Answer, Cluster};
use super::words::name;
use crate::api::{ApiOutcome, Settings};
use crate::replace::basis;
use crate::replace::journal::{Journal, Millis};
use crate::replace::live::LiveSet;
use crate::replace::machine::Machine;
use crate::replace::notice::{self, Happened};
use crate::replace::objects::Allows;
use crate::replace::step::{End, Fault, Part, Step};
use crate::replace::task::{MachineKind, PauseCause, ReplaceTask, Reply, StartFrom};
use crate::replace::world::{DryRuns, LastVersion, World};

static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);

/// Every staged change obeys the rules.
const ALLOWS: Allows = |_, _| Ok(());

/// A controller process, or a command. A crash loses what it keeps.
#[derive(Clone, Debug)]
pub(super) struct Process {
    machine: Machine<'static>,
    /// True iff others act after it has read, and before it decides.
    is_late: bool,
}

/// What a process does next.
#[derive(Debug)]
pub(super) enum Decision {
    Write(Step),
    Pause(Millis, PauseCause),
    End(notice::Ended),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    End(End),
    Foreign(Fault),
    Stalled(Fault),
    /// The most steps were not enough.
    Never,
}

/// The steps of a run, in order. A step that met a conflict has a `!`.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) steps: Vec<String>,
    pub(super) ended: Ended,
    /// What was reported while it went on.
    pub(super) stalled: Vec<Fault>,
}

/// The most steps of a run, without waiting for a minute.
const MOST: usize = 400;

/// The world that the next decision of the process is made in, if it reads everything again.
pub(super) fn world(cluster: &Cluster, process: &Process) -> World<'static> {
    let kind = process.machine.kind;
    let mut world = cluster.objects().world(cluster.now, &SETTINGS, ALLOWS, kind);
    process.machine.memory.clone().show(&mut world);
    world
}

/// Reads a part of the world.
pub(super) fn fill(cluster: &Cluster, world: &mut World<'_>, part: Part) {
    match part {
        Part::Guard => world.checks.guarded = Some(cluster.guard),
        Part::Dependents => world.dependents = Some(cluster.dependents()),
        Part::Namespace => {
            let namespace = if cluster.namespace_ends { "" } else { cluster.namespace };
            world.namespace = Some(namespace.to_owned());
        }
        Part::LastVersion => {
            let last = cluster.last.clone().map_or(LastVersion::Unknown, LastVersion::Seen);
            world.last_version = Some(last);
        }
        Part::Quotas => world.checks.quotas = Some(cluster.quotas.clone()),
        Part::DryRuns => world.checks.dry_runs = Some(dry_runs(cluster)),
    }
}

fn dry_runs(cluster: &Cluster) -> DryRuns {
    let set = cluster.live();
    let mut created = Journal::prepare(set, None, 0).expect("a staged change").recreated();
    if let Some(webhook) = cluster.webhook {
        webhook(&mut created);
    }
    api_server::default(&mut created);
    let [delete, create] = cluster.denies.map(|why| why.map_or(Ok(()), |why| Err(why.to_owned())));
    DryRuns {
        basis: basis(set),
        delete,
        create,
        created: Ok(LiveSet::new(created)),
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::of(MachineKind::Controller)
    }
}

impl Process {
    fn of(kind: MachineKind) -> Self {
        let machine = Machine::new(&SETTINGS, ALLOWS, kind, StartFrom::Nothing);
        Self {
            machine,
            is_late: false,
        }
    }

    /// The same, with changes of others that come after its reads.
    pub(super) fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    /// The command `replace`.
    pub(super) fn forced() -> Self {
        Self::of(MachineKind::Forced)
    }

    /// The command `replace --take-back`.
    pub(super) fn taking_back() -> Self {
        Self::of(MachineKind::TakesBack)
    }

    /// Only the time since when it has waited is left.
    pub(super) fn crashed_while_waiting(&self) -> Self {
        let mut process = Self::of(self.machine.kind);
        process.machine.memory = self.machine.memory.crashed_while_waiting();
        process
    }

    /// What it does next, after the reads that this needs. The names of the parts go to `reads`.
    pub(super) fn decide(&mut self, cluster: &Cluster, reads: &mut Vec<String>) -> Decision {
        loop {
            match self.machine.next(cluster.now, false) {
                ReplaceTask::Observe => self.machine.observed(cluster.objects()),
                ReplaceTask::ObserveSet => self.machine.observed_set(cluster.set.clone()),
                ReplaceTask::Fill(mut world, part) => {
                    reads.push(format!("read {part:?}"));
                    assert!(reads.len() < MOST, "reads for ever: {reads:?}");
                    fill(cluster, &mut world, part);
                    self.machine.filled(world);
                }
                ReplaceTask::Write(step) => return Decision::Write(step),
                ReplaceTask::Pause(millis, cause) => return Decision::Pause(millis, cause),
                ReplaceTask::End(_, ended) => return Decision::End(ended),
            }
        }
    }

    /// Executes a step, and notes the answer.
    pub(super) fn execute(&mut self, cluster: &mut Cluster, step: &Step) -> Answer {
        self.machine.executes(step);
        let journal = self.machine.objects().journal_version.clone();
        let answer = cluster.execute(step, journal.and_then(|version| version.parse().ok()));
        let written = match answer {
            Answer::Done => ApiOutcome::Done(reply(cluster, step)),
            Answer::Conflict => ApiOutcome::Conflict("409 somebody's text".to_owned()),
            Answer::NotFound => ApiOutcome::NotFound("404 somebody's text".to_owned()),
            Answer::Denied => ApiOutcome::denied("Forbidden", "somebody's text".to_owned()),
            Answer::Invalid => ApiOutcome::denied("Invalid", "somebody's text".to_owned()),
            Answer::Unsure => ApiOutcome::unsure("no answer"),
        };
        self.machine.answered(step, written, cluster.now);
        answer
    }

    /// Executes the step that it decides, or lets the time of its pause pass.
    pub(super) fn go_on(&mut self, cluster: &mut Cluster) {
        match self.decide(cluster, &mut Vec::new()) {
            Decision::Write(step) => _ = self.execute(cluster, &step),
            Decision::Pause(millis, _) => {
                cluster.now += millis;
                cluster.settle();
            }
            Decision::End(ended) => panic!("{ended:?}"),
        }
    }

    /// What was reported as stalled since the last call.
    fn stalled(&mut self) -> Vec<Fault> {
        let notices = self.machine.notices().into_iter();
        let faults = notices.filter_map(|notice| match notice.what {
            Happened::Stalled(fault) => Some(fault),
            _ => None,
        });
        faults.collect()
    }
}

fn reply(cluster: &Cluster, step: &Step) -> Reply {
    match step {
        Step::WriteJournal(_) => {
            let version = cluster.journal.as_ref().map(|(version, _)| version.to_string());
            Reply::Journal([Some(cluster.secret()), version])
        }
        Step::DisownReport | Step::OwnReport { .. } => Reply::Report(cluster.report.clone()),
        Step::DeleteJournal | Step::LeaveForeign(_) | Step::LetGo(_) | Step::DeleteRevision { .. } => Reply::Nothing,
        _ => cluster.set.clone().map_or(Reply::Nothing, Reply::Set),
    }
}

/// Runs a process until the replacement ends. Before step `n`, `meanwhile` may do what others do, and replace the
/// process.
pub(super) fn run(
    cluster: &mut Cluster,
    process: &mut Process,
    mut meanwhile: impl FnMut(&mut Cluster, &mut Process, usize),
) -> Run {
    let (mut steps, mut stalled) = (Vec::new(), Vec::new());
    for number in 0..MOST {
        let before = format!("{cluster:?}");
        meanwhile(cluster, process, number);
        if !process.is_late && format!("{cluster:?}") != before {
            process.machine.postponed();
        }
        let mut reads = Vec::new();
        let decision = process.decide(cluster, &mut reads);
        steps.append(&mut reads);
        let ended = match decision {
            Decision::End(ended) => Some(match ended {
                notice::Ended::Refused(fault) => Ended::End(End::Refused(fault)),
                notice::Ended::Foreign(fault) => Ended::Foreign(fault),
                _ => Ended::End(End::Nothing),
            }),
            Decision::Pause(millis, PauseCause::Failure(_) | PauseCause::Conflicts) => {
                cluster.now += millis;
                stalled.extend(process.stalled());
                None
            }
            Decision::Pause(millis, _) => match process.stalled().pop() {
                Some(fault) => Some(Ended::Stalled(fault)),
                None => {
                    steps.push("Wait".to_owned());
                    // Time passes faster than it has to.
                    cluster.now += 5 * millis;
                    cluster.settle();
                    None
                }
            },
            Decision::Write(step) => {
                let answer = process.execute(cluster, &step);
                stalled.extend(process.stalled());
                let conflict = if answer == Answer::Done { "" } else { "!" };
                steps.push(format!("{}{conflict}", name(&step)));
                None
            }
        };
        if let Some(ended) = ended {
            return Run { steps, ended, stalled };
        }
    }
    Run {
        steps,
        ended: Ended::Never,
        stalled,
    }
}

/// The steps without reads, each once in a row.
pub(super) fn writes(steps: &[String]) -> String {
    let mut steps: Vec<&str> = steps
        .iter()
        .map(String::as_str)
        .filter(|step| !step.starts_with("read"))
        .collect();
    steps.dedup();
    steps.join(", ")
}
