//! A controller process in the model: it reads, decides and executes, as the task of a replacement does.

use std::sync::LazyLock;

use super::api_server::{self, Answer};
use super::cluster::Cluster;
use crate::api::{ReplacementReason, Settings};
use crate::replace::journal::{Journal, Millis, Stage};
use crate::replace::live::LiveSet;
use crate::replace::step::{End, Fault, Part, Step, Waits};
use crate::replace::world::{CountQuota, Dependents, DryRuns, LastVersion, World};
use crate::replace::{basis, next};

static SETTINGS: LazyLock<Settings> = LazyLock::new(Settings::default);

/// What a process keeps between two decisions. A crash loses it.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    forced: bool,
    checked: Option<String>,
    guarded: Option<bool>,
    dependents: Option<Dependents>,
    quotas: Option<Vec<CountQuota>>,
    dry_runs: Option<DryRuns>,
    /// The uid of the namespace, until somebody else may have acted.
    namespace: Option<String>,
    last_version: Option<LastVersion>,
    namespace_ends: bool,
    verified: Option<String>,
    managers_restored: Option<String>,
    retained_at: Option<i64>,
    unreferenced_since: Option<Millis>,
    waits: Option<(ReplacementReason, Millis)>,
}

/// A step, with the resourceVersion of the journal that it was decided for.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) step: Step,
    journal: Option<u64>,
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
}

/// The most steps of a run, without waiting for a minute.
const MOST: usize = 400;

pub(super) fn world(cluster: &Cluster, process: &Process) -> World<'static> {
    World {
        now: cluster.now,
        settings: &SETTINGS,
        allowed: Ok(()),
        forced: process.forced,
        set: cluster.set.clone(),
        journal: cluster.journal.as_ref().map(|(_, journal)| journal.clone()),
        report: cluster.report.clone(),
        guarded: process.guarded,
        dependents: process.dependents.clone(),
        quotas: process.quotas.clone(),
        dry_runs: process.dry_runs.clone(),
        checked: process.checked.clone(),
        denied: None,
        namespace: process.namespace.clone(),
        last_version: process.last_version.clone(),
        namespace_ends: process.namespace_ends,
        verified: process.verified.clone(),
        managers_restored: process.managers_restored.clone(),
        retained_at: process.retained_at,
        unreferenced_since: process.unreferenced_since,
        waits_since: process.waits.map(|(_, since)| since),
    }
}

/// Reads a part of the world.
pub(super) fn fill(cluster: &Cluster, world: &mut World<'_>, part: Part) {
    match part {
        Part::Guard => world.guarded = Some(cluster.guard),
        Part::Dependents => world.dependents = Some(cluster.dependents()),
        Part::Namespace => world.namespace = Some(cluster.namespace.to_owned()),
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

    /// Only the time since when it has waited is left.
    pub(super) fn crashed_while_waiting(&self) -> Self {
        Self {
            unreferenced_since: self.unreferenced_since,
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
        (self.guarded, self.quotas, self.dry_runs) = (world.guarded, world.quotas.clone(), world.dry_runs.clone());
        self.dependents.clone_from(&world.dependents);
        self.namespace.clone_from(&world.namespace);
        self.last_version.clone_from(&world.last_version);
        let retaining = world.set.as_ref().filter(|set| set.retains());
        self.retained_at = retaining.map(|set| self.retained_at.unwrap_or_else(|| set.generation()));
        self.note(&world, &step);
        let journal = cluster.journal.as_ref().map(|(version, _)| *version);
        Decision { step, journal }
    }

    fn note(&mut self, world: &World<'_>, step: &Step) {
        match step {
            Step::Mark(_) | Step::WriteJournal(_) | Step::DisownReport => {
                self.checked = world.set.as_ref().filter(|set| !set.terminating()).map(basis);
            }
            Step::Wait {
                waits: Waits::Settling, ..
            } => {
                self.unreferenced_since.get_or_insert(world.now);
            }
            Step::Delete { .. } => self.unreferenced_since = None,
            _ => {}
        }
        if !step.keeps_dependents() {
            self.dependents = None;
        }
        if !matches!(step, Step::WriteJournal(_) | Step::LetGo(_)) {
            (self.namespace, self.last_version) = (None, None);
        }
        self.waits = match step {
            Step::Wait {
                waits: Waits::Others(fault) | Waits::Stalled(fault),
                ..
            } => {
                let same = self.waits.filter(|(reason, _)| *reason == fault.reason);
                Some(same.unwrap_or((fault.reason, world.now)))
            }
            _ => None,
        };
    }

    /// Executes a step, and notes the answer.
    pub(super) fn execute(&mut self, cluster: &mut Cluster, decision: &Decision) -> Answer {
        let answer = cluster.execute(&decision.step, decision.journal);
        match (&decision.step, answer) {
            (Step::RestoreStrategy { set, .. }, Answer::Done) => self.verified = Some(set.uid.clone()),
            (Step::RestoreManagers { set, .. }, Answer::Done) => self.managers_restored = Some(set.uid.clone()),
            (Step::Create(_), Answer::NotFound) => self.namespace_ends = true,
            _ => {}
        }
        answer
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
    let mut reads = Vec::new();
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
                let answer = process.execute(cluster, &decision);
                let conflict = if answer == Answer::Done { "" } else { "!" };
                steps.push(format!("{}{conflict}", name(step)));
                match step {
                    Step::LeaveForeign(fault) if answer == Answer::Done => Some(Ended::Foreign(fault.clone())),
                    _ => None,
                }
            }
        };
        if let Some(ended) = ended {
            return Run { steps, ended };
        }
    }
    Run {
        steps,
        ended: Ended::Never,
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
