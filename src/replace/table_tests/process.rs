//! A controller process in the model: it reads, decides and executes, as the task of a replacement does.

use std::sync::LazyLock;

use super::api_server::{self, Answer};
use super::cluster::Cluster;
use crate::api::Settings;
use crate::replace::journal::{Journal, Stage};
use crate::replace::live::LiveSet;
use crate::replace::memory::{Consequence, Memory};
use crate::replace::step::{End, Fault, Part, Step, Waits};
use crate::replace::world::{DryRuns, LastVersion, World};
use crate::replace::{basis, next};

static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);

/// A controller process, or a command. A crash loses what it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    forced: bool,
    taken_back: bool,
    memory: Memory,
}

/// A step, with the objects that it was decided for, and the resourceVersion of the journal.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) step: Step,
    set: Option<LiveSet>,
    journal: Option<(u64, Journal)>,
    report: String,
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

pub(super) fn world(cluster: &Cluster, process: &Process) -> World<'static> {
    let journal = cluster.journal.as_ref().map(|(_, journal)| journal);
    let is_believed = |journal: &&Journal| journal.is_of_secret(&cluster.secret());
    let mut world = World {
        now: cluster.now,
        settings: &SETTINGS,
        allowed: Ok(()),
        forced: process.forced,
        set: cluster.set.clone(),
        journal: journal.filter(is_believed).cloned(),
        secret: journal.map(|_| cluster.secret()),
        unreadable: journal
            .filter(|journal| !is_believed(journal))
            .map(|_| "of a backup".to_owned()),
        taken_back: process.taken_back,
        report: cluster.report.clone(),
        guarded: None,
        dependents: None,
        quotas: None,
        dry_runs: None,
        checked: None,
        denied: None,
        namespace: None,
        last_version: None,
        verified: None,
        managers_restored: None,
        retained_at: None,
        unreferenced_since: None,
        waits_since: None,
    };
    process.memory.clone().show(&mut world);
    world
}

/// Reads a part of the world.
pub(super) fn fill(cluster: &Cluster, world: &mut World<'_>, part: Part) {
    match part {
        Part::Guard => world.guarded = Some(cluster.guard),
        Part::Dependents => world.dependents = Some(cluster.dependents()),
        Part::Namespace => {
            let namespace = if cluster.namespace_ends { "" } else { cluster.namespace };
            world.namespace = Some(namespace.to_owned());
        }
        Part::LastVersion => {
            let last = cluster.last.clone().map_or(LastVersion::Unknown, LastVersion::Seen);
            world.last_version = Some(last);
        }
        Part::Quotas => world.quotas = Some(cluster.quotas.clone()),
        Part::DryRuns => world.dry_runs = Some(dry_runs(cluster)),
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

impl Process {
    /// The command `replace`.
    pub(super) fn forced() -> Self {
        Self {
            forced: true,
            ..Self::default()
        }
    }

    /// The command `replace --take-back`.
    pub(super) fn taking_back() -> Self {
        Self {
            forced: true,
            taken_back: true,
            ..Self::default()
        }
    }

    /// Only the time since when it has waited is left.
    pub(super) fn crashed_while_waiting(&self) -> Self {
        Self {
            memory: self.memory.crashed_while_waiting(),
            ..Self::default()
        }
    }

    /// The next step, after the reads that it needs. Their names go to `reads`.
    pub(super) fn decide(&mut self, cluster: &Cluster, reads: &mut Vec<String>) -> Decision {
        let mut world = world(cluster, self);
        let step = loop {
            match next(&world) {
                Step::Read(part) => {
                    reads.push(format!("read {part:?}"));
                    assert!(reads.len() < MOST, "reads for ever: {reads:?}");
                    fill(cluster, &mut world, part);
                }
                step => break step,
            }
        };
        self.memory.keep(&world, &step);
        Decision {
            step,
            set: cluster.set.clone(),
            journal: cluster.journal.clone(),
            report: format!("{:?}", cluster.report),
        }
    }

    /// Executes a step, and notes the answer.
    pub(super) fn execute(&mut self, cluster: &mut Cluster, decision: &Decision) -> (Answer, Consequence) {
        let Decision {
            step,
            set,
            journal,
            report,
        } = decision;
        let answer = cluster.execute(step, journal.as_ref().map(|(version, _)| *version));
        let set_version = set.as_ref().map(|set| set.resource_version().to_owned());
        let journal_version = journal.as_ref().map(|(version, _)| version.to_string());
        let versions = [set_version, journal_version, Some(report.clone())];
        let of = (set.as_ref(), journal.as_ref().map(|(_, journal)| journal));
        let consequence = (self.memory).answered(of, versions, (step, name(step)), answer.into());
        // Then the shell goes on without reading everything again.
        if consequence != Consequence::Done || !matches!(step, Step::WriteJournal(_) | Step::LetGo(_)) {
            self.memory.forget_reads();
        }
        (answer, consequence)
    }
}

/// Runs a process until the replacement ends. Before step `n`, `meanwhile` may do what others do, and replace the
/// process.
pub(super) fn run(
    cluster: &mut Cluster,
    process: &mut Process,
    mut meanwhile: impl FnMut(&mut Cluster, &mut Process, usize),
) -> Run {
    let mut steps = Vec::new();
    let (mut reads, mut stalled) = (Vec::new(), Vec::new());
    for number in 0..MOST {
        meanwhile(cluster, process, number);
        reads.clear();
        let decision = process.decide(cluster, &mut reads);
        steps.append(&mut reads);
        let ended = match &decision.step {
            Step::End(end) => Some(Ended::End(end.clone())),
            Step::Wait {
                waits: Waits::Stalled(fault),
                ..
            } => Some(Ended::Stalled(fault.clone())),
            Step::Wait { millis, .. } => {
                steps.push("Wait".to_owned());
                // Time passes faster than it has to.
                cluster.now += 5 * millis;
                cluster.settle();
                continue;
            }
            step => {
                let (answer, consequence) = process.execute(cluster, &decision);
                if let Consequence::Stalled(fault) = &consequence {
                    stalled.push(fault.clone());
                }
                if matches!(consequence, Consequence::Stalled(_) | Consequence::TryAgain) {
                    cluster.now += 1_000;
                }
                let conflict = if answer == Answer::Done { "" } else { "!" };
                steps.push(format!("{}{conflict}", name(step)));
                match step {
                    Step::LeaveForeign(fault) if answer == Answer::Done => Some(Ended::Foreign(fault.clone())),
                    _ => None,
                }
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

pub(super) const fn name(step: &Step) -> &'static str {
    match step {
        Step::Read(_) => "Read",
        Step::WriteJournal(journal) => match journal.stage {
            Stage::Prepared => "WriteJournal(Prepared)",
            Stage::Releasing => "WriteJournal(Releasing)",
            Stage::Created => "WriteJournal(Created)",
        },
        Step::DisownReport => "DisownReport",
        Step::Mark(_) => "Mark",
        Step::Delete { .. } => "Delete",
        Step::LetGo(_) => "LetGo",
        Step::Create(_) => "Create",
        Step::ScaleUp { .. } => "ScaleUp",
        Step::DeleteRevision { .. } => "DeleteRevision",
        Step::RestoreStaged { .. } => "RestoreStaged",
        Step::RestoreStrategy { .. } => "RestoreStrategy",
        Step::RestoreManagers { .. } => "RestoreManagers",
        Step::OwnReport { .. } => "OwnReport",
        Step::DeleteJournal => "DeleteJournal",
        Step::LeaveForeign(_) => "LeaveForeign",
        Step::Unmark { .. } => "Unmark",
        Step::Wait { .. } => "Wait",
        Step::End(_) => "End",
    }
}
