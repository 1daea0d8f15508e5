//! The run that is part of CI: workloads, faults, planted bugs, schedules, and all states of small scopes.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::actors::action::UserAction;
use super::coverage::Coverage;
use super::crash;
use super::crash::single_faults;
use super::decisions::Decisions;
use super::effort::{Effort, ReportProgress};
use super::explore::{ScopeModel, SearchScope};
use super::log::Log;
use super::planted::Planted;
use super::schedule::{self, Failure};
use super::search::{SearchNumbers, each_scope};
use super::threads::{STRIDE, each_in_threads, in_threads};
use super::trace;
use super::workload::{one, two};
use super::workloads;
use super::{recreate, replace, volumes};
use crate::rollout::invariants::Broken;

/// The numbers of a run.
#[derive(Clone, Debug, Default)]
pub struct RunNumbers {
    workloads: usize,
    crash_points: u32,
    pairs: u32,
    planted: usize,
    schedules: u64,
    steps: u64,
    searched: SearchNumbers,
    coverage: Coverage,
    seconds: u64,
}

/// The page that shows how bugs are found.
pub(super) const DOCUMENT: &str = include_str!("../../docs/dev/guarantees.md");

/// Each planted bug must be found within this many schedules.
pub(super) const PLANTED_SCHEDULES: u64 = 20_000;

/// So many scopes are searched to the end, with the least effort: only there, the end is judged from every state.
const LEAST_EXHAUSTED: usize = 8;

/// The explored scopes, the smallest first.
const SCOPES: &[SearchScope] = &[
    scope("newcomers", &[UserAction::Target(one(2))], 1, 0, false),
    scope("newcomers", &[UserAction::Both(one(2), 1)], 1, 0, false),
    scope(
        "newcomers",
        &[UserAction::Target(one(2)), UserAction::Target(one(3))],
        1,
        0,
        false,
    ),
    scope(
        "newcomers",
        &[
            UserAction::Target(one(2)),
            UserAction::DeleteClaim(1),
            UserAction::DeletePod(1),
        ],
        1,
        0,
        false,
    ),
    scope(
        "newcomers",
        &[UserAction::Both(one(2), 1), UserAction::Withdraw],
        1,
        0,
        false,
    ),
    scope(
        "newcomers",
        &[UserAction::Target(one(2)), UserAction::Size(0, 4)],
        1,
        2,
        false,
    ),
    // The same staged again is another staging.
    scope(
        "newcomers",
        &[
            UserAction::Target(one(2)),
            UserAction::Withdraw,
            UserAction::Target(one(2)),
        ],
        0,
        0,
        false,
    ),
    scope("newcomers", &[UserAction::Target(one(2))], 0, 0, true),
    scope(
        "grow",
        &[UserAction::Both(one(2), 1), UserAction::Scale(2)],
        1,
        2,
        false,
    ),
    scope(
        "grow-two-templates",
        &[
            UserAction::Target(two(2, 3)),
            UserAction::Target(two(3, 3)),
            UserAction::Size(2, 5),
        ],
        1,
        2,
        false,
    ),
];

const fn scope(
    workload: &'static str,
    actions: &'static [UserAction],
    faults: u8,
    travels: u8,
    second: bool,
) -> SearchScope {
    SearchScope {
        workload,
        actions: Cow::Borrowed(actions),
        faults,
        travels,
        second,
    }
}

/// The actions of each workload at any time, with one fault and one older view, and with two faults.
fn further_scopes() -> impl Iterator<Item = SearchScope> {
    let of = |(faults, travels)| {
        workloads::ALL.iter().map(move |workload| SearchScope {
            workload: workload.name,
            actions: workload.script.iter().map(|(_, action)| *action).collect(),
            faults,
            travels,
            second: false,
        })
    };
    [(1, 1), (2, 0)].into_iter().flat_map(of)
}

/// Runs everything.
///
/// # Errors
/// The trace of the first broken guarantee, and the command that prints it again.
pub fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<RunNumbers, String> {
    let started = Instant::now();
    let mut numbers = RunNumbers::default();
    if effort.first == 0 {
        crash_points(effort, &mut numbers, report)?;
        planted(&mut numbers, report)?;
    }
    for (steps, coverage) in in_threads(|part, found| schedules(effort, part, found))? {
        numbers.steps += steps;
        numbers.coverage.add(&coverage);
    }
    numbers.schedules = effort.schedules.saturating_sub(effort.first);
    report(&format!(
        "{} random schedules of {} steps: every guarantee holds",
        numbers.schedules, numbers.steps
    ));
    let scopes: Vec<SearchScope> = SCOPES
        .iter()
        .cloned()
        .chain(further_scopes().take(effort.further_scopes))
        .collect();
    let of = |scope: &SearchScope| ScopeModel::of(scope.clone());
    let (searched, covered) = each_scope(&scopes, of, effort.states, report)?;
    covered.iter().for_each(|coverage| numbers.coverage.add(coverage));
    searched.all_exhausted(LEAST_EXHAUSTED)?;
    numbers.searched = searched;
    numbers.seconds = started.elapsed().as_secs();
    let missing = numbers.coverage.missing();
    if missing.is_empty() {
        return Ok(numbers);
    }
    Err(format!("never reached: {}", missing.join(", ")))
}

/// Searches the small models.
///
/// # Errors
/// The path to the first state that breaks a guarantee, or the planted bug that was not found.
pub fn prove_small(effort: &Effort, report: ReportProgress<'_>) -> Result<[SearchNumbers; 3], String> {
    Ok([
        replace::prove(effort, report)?,
        recreate::prove(effort, report)?,
        volumes::prove(effort, report)?,
    ])
}

fn crash_points(effort: &Effort, numbers: &mut RunNumbers, report: ReportProgress<'_>) -> Result<(), String> {
    let points = each_in_threads(workloads::ALL, |workload| {
        crash::every_point(workload, &mut Decisions::default()).map_err(|difference| difference.trace())
    })?;
    (numbers.workloads, numbers.crash_points) = (points.len(), points.iter().sum());
    report(&format!(
        "{} faults at requests of {} workloads: the same outcome as without",
        numbers.crash_points, numbers.workloads
    ));
    if effort.pairs {
        let pairs = each_in_threads(workloads::ALL, |workload| {
            crash::every_pair(workload, &mut Decisions::default()).map_err(|difference| difference.trace())
        });
        numbers.pairs = pairs?.into_iter().sum();
        report(&format!(
            "{} pairs of faults: the same outcome as without",
            numbers.pairs
        ));
    }
    Ok(())
}

/// Finds each planted bug, by the guarantee that it was planted for.
fn planted(numbers: &mut RunNumbers, report: ReportProgress<'_>) -> Result<(), String> {
    let faults = each_in_threads(Planted::ALL, |planted| {
        let documented = documented_seed(*planted);
        let in_workload = |(workload, broken): (&str, Broken)| {
            report(&format!(
                "{planted:?}: workload {workload}: {broken} ({})",
                planted.repeats()
            ));
            Ok(None)
        };
        if let (None, Some(found)) = (documented, find_in_workloads(*planted)) {
            return in_workload(found);
        }
        let Some(found) = find(*planted) else {
            return match find_with_a_fault(*planted) {
                Some(found) => in_workload(found),
                None => Ok(Some(format!("{planted:?} was not found: {}", planted.repeats()))),
            };
        };
        let seed = found.seed;
        report(&format!(
            "{planted:?}: seed {seed}: {} ({})",
            found.broken,
            planted.repeats()
        ));
        let moved = documented.filter(|documented| *documented != seed);
        Ok(moved
            .map(|documented| format!("{planted:?}: docs/dev/guarantees.md shows seed {documented}, now it is {seed}")))
    })?;
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    numbers.planted = Planted::ALL.len();
    Ok(())
}

/// The seed that docs/dev/guarantees.md shows for a planted bug, if it names the bug.
fn documented_seed(planted: Planted) -> Option<u64> {
    let after = DOCUMENT.split(&format!("`{planted:?}`, ")).nth(1)?;
    after.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

/// The first workload in which a planted bug breaks its guarantee although nothing else happens.
fn find_in_workloads(planted: Planted) -> Option<(&'static str, Broken)> {
    let mut decisions = Decisions::with(Some(planted));
    workloads::ALL.iter().find_map(|workload| {
        let broken = workload.run(&mut decisions, &mut Log::default()).err()?;
        planted.is_shown_by(&broken).then_some((workload.name, broken))
    })
}

/// The first workload in which a planted bug breaks its guarantee with one fault at a request.
fn find_with_a_fault(planted: Planted) -> Option<(&'static str, Broken)> {
    let mut decisions = Decisions::with(Some(planted));
    workloads::ALL.iter().find_map(|workload| {
        let mut log = Log::default();
        workload.run(&mut decisions, &mut log).ok()?;
        let mut broken = single_faults(log.requests).filter_map(|fault| {
            let mut log = Log::default();
            log.faults.push(fault);
            workload.run(&mut decisions, &mut log).err()
        });
        let broken = broken.find(|broken| planted.is_shown_by(broken))?;
        Some((workload.name, broken))
    })
}

/// The first schedule in which a planted bug breaks its guarantee. Others, which it breaks first, are passed over.
pub(crate) fn find(planted: Planted) -> Option<Box<Failure>> {
    let mut decisions = Decisions::with(Some(planted));
    (0..PLANTED_SCHEDULES).find_map(|seed| {
        let result = schedule::run(seed, schedule::workload_of(seed), &mut decisions, &mut Log::default());
        result.err().filter(|failure| planted.is_shown_by(&failure.broken))
    })
}

/// Every second schedule, until any thread finds a broken guarantee.
fn schedules(effort: &Effort, part: u64, found: &AtomicBool) -> Result<(u64, Coverage), String> {
    let mut decisions = Decisions::default();
    let mut steps = 0;
    for seed in (effort.first + part..effort.schedules).step_by(STRIDE) {
        if found.load(Ordering::Relaxed) {
            break;
        }
        let mut log = Log::default();
        let result = schedule::run(seed, schedule::workload_of(seed), &mut decisions, &mut log);
        result.map_err(|failure| {
            let text = trace(failure.seed, None, None).map_or_else(|why| why, |trace| trace.text);
            format!("{text}trace: make story SEED={}", failure.seed)
        })?;
        steps += log.steps;
    }
    Ok((steps, decisions.coverage))
}

impl fmt::Display for RunNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} workloads, {} faults at their requests, {} pairs",
            self.workloads, self.crash_points, self.pairs
        )?;
        writeln!(f, "{} planted bugs, each found", self.planted)?;
        writeln!(f, "{} random schedules, {} steps", self.schedules, self.steps)?;
        let ((states, transitions), (exhausted, scopes)) = (self.searched.states(), self.searched.scopes());
        writeln!(
            f,
            "{states} unique states, {transitions} transitions, {exhausted} of {scopes} scopes exhausted"
        )?;
        writeln!(f, "reached: {}", self.coverage)?;
        write!(f, "in {} s: every guarantee holds", self.seconds)
    }
}
