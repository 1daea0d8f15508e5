//! The run that is part of the tests: workloads, crash points, planted bugs, schedules, and every order in small scopes.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::coverage::Coverage;
use super::crash;
use super::explore::{self, Explored, Path, Scope};
use super::inhabitants::people::Deed;
use super::log::{self, Log};
use super::mind::Mind;
use super::planted::Planted;
use super::schedule::{self, Failure};
use super::story;
use super::workloads::{self, one, two};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Random schedules.
    pub schedules: u64,
    /// The first of them. If there are some before it, what comes before them is left out as well: a run goes on where
    /// another ended.
    pub first: u64,
    /// States of each scope that is explored, at most: what fits into memory, twice.
    pub states: usize,
    /// Further scopes: what users do in the workloads, at any time and with further faults.
    pub further_scopes: usize,
    /// Whether pairs of faults are tried, besides every single one.
    pub pairs: bool,
    /// Sequences of requests by somebody without rights on PVCs.
    pub sequences: u64,
}

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    workloads: u32,
    crash_points: u32,
    pairs: u32,
    planted: usize,
    schedules: u64,
    steps: u64,
    states: usize,
    transitions: u64,
    exhausted: usize,
    scopes: usize,
    coverage: Coverage,
    seconds: u64,
}

/// As many as there are cores on the smallest machine that builds this.
const THREADS: u64 = 2;
pub(super) const STRIDE: usize = 2;

/// Says how far it is.
pub(super) type Say<'s> = &'s (dyn Fn(&str) + Sync);

/// A planted bug must be found by this many schedules.
pub(super) const PLANTED_SCHEDULES: u64 = 20_000;

/// The scopes that are explored, the smallest first.
const SCOPES: &[Scope] = &[
    scope("newcomers", &[Deed::Target(one(2))], 1, 0, false),
    scope("newcomers", &[Deed::Both(one(2), 1)], 1, 0, false),
    scope("newcomers", &[Deed::Target(one(2)), Deed::Target(one(3))], 1, 0, false),
    scope(
        "newcomers",
        &[Deed::Target(one(2)), Deed::DeleteClaim(1), Deed::DeletePod(1)],
        1,
        0,
        false,
    ),
    scope("newcomers", &[Deed::Both(one(2), 1), Deed::Withdraw], 1, 0, false),
    scope("newcomers", &[Deed::Target(one(2)), Deed::Size(0, 4)], 1, 2, false),
    scope("newcomers", &[Deed::Target(one(2))], 0, 0, true),
    scope("grow", &[Deed::Both(one(2), 1), Deed::Scale(2)], 1, 2, false),
    scope(
        "grow-two-templates",
        &[Deed::Target(two(2, 3)), Deed::Target(two(3, 3)), Deed::Size(2, 5)],
        1,
        2,
        false,
    ),
];

const fn scope(workload: &'static str, deeds: &'static [Deed], faults: u8, travels: u8, second: bool) -> Scope {
    Scope {
        workload,
        deeds: Cow::Borrowed(deeds),
        faults,
        travels,
        second,
    }
}

/// What users do in each workload, at any time, with one fault and a travel in time, and with two faults.
fn further_scopes() -> impl Iterator<Item = Scope> {
    let of = |(faults, travels)| {
        workloads::ALL.iter().map(move |workload| Scope {
            workload: workload.name,
            deeds: workload.script.iter().map(|(_, deed)| *deed).collect(),
            faults,
            travels,
            second: false,
        })
    };
    [(1, 1), (2, 0)].into_iter().flat_map(of)
}

impl Effort {
    /// So many times the effort of the run that is part of the tests.
    #[must_use]
    pub fn times(times: u64) -> Self {
        Self {
            schedules: 100_000 * times,
            first: 0,
            states: if times > 1 { 3_500_000 } else { 900_000 },
            further_scopes: usize::try_from(times).unwrap_or(usize::MAX).saturating_sub(1),
            pairs: times > 1,
            sequences: 200_000 * times,
        }
    }
}

/// Tries all of it.
///
/// # Errors
/// The story of the first guarantee that does not hold, and the command that tells it again.
pub fn prove(effort: &Effort, say: Say<'_>) -> Result<Numbers, String> {
    let started = Instant::now();
    let mut numbers = Numbers::default();
    if effort.first == 0 {
        crash_points(effort, &mut numbers, say)?;
        planted(&mut numbers, say)?;
    }
    for (steps, coverage) in in_threads(|part, found| schedules(effort, part, found))? {
        numbers.steps += steps;
        numbers.coverage.add(&coverage);
    }
    numbers.schedules = effort.schedules.saturating_sub(effort.first);
    say(&format!(
        "{} random schedules of {} steps: every guarantee holds",
        numbers.schedules, numbers.steps
    ));
    let begun = AtomicUsize::new(0);
    for (explored, coverage) in in_threads(|_, found| scopes(effort, &begun, found, say))?
        .into_iter()
        .flatten()
    {
        numbers.scopes += 1;
        numbers.states += explored.states;
        numbers.transitions += explored.transitions;
        numbers.exhausted += usize::from(explored.exhausted);
        numbers.coverage.add(&coverage);
    }
    numbers.seconds = started.elapsed().as_secs();
    let missing = numbers.coverage.missing();
    if missing.is_empty() {
        return Ok(numbers);
    }
    Err(format!("never reached: {}", missing.join(", ")))
}

fn crash_points(effort: &Effort, numbers: &mut Numbers, say: Say<'_>) -> Result<(), String> {
    let tried = crash::every_point().map_err(|difference| difference.story())?;
    (numbers.workloads, numbers.crash_points) = (tried.workloads, tried.points);
    say(&format!(
        "{} faults at requests of {} workloads: as if undisturbed",
        tried.points, tried.workloads
    ));
    if effort.pairs {
        for workload in workloads::ALL {
            let pairs = crash::every_pair(workload, &mut Mind::default());
            numbers.pairs += pairs.map_err(|difference| difference.story())?;
        }
        say(&format!("{} pairs of faults: as if undisturbed", numbers.pairs));
    }
    Ok(())
}

/// Every planted bug is found, and by a guarantee that it breaks.
fn planted(numbers: &mut Numbers, say: Say<'_>) -> Result<(), String> {
    let mut faults = Vec::new();
    for planted in Planted::ALL {
        let Some(found) = find(*planted) else {
            faults.push(format!("{planted:?} was not found: {}", planted.repeats()));
            continue;
        };
        say(&format!(
            "{planted:?}: seed {}: {} ({})",
            found.seed,
            found.broken,
            planted.repeats()
        ));
        numbers.planted += 1;
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

/// The first schedule in which a planted bug breaks a guarantee that is named beside it.
pub(crate) fn find(planted: Planted) -> Option<Box<Failure>> {
    let mut mind = Mind::with(Some(planted));
    (0..PLANTED_SCHEDULES).find_map(|seed| {
        let result = schedule::run(seed, schedule::workload_of(seed), &mut mind, &mut Log::default());
        result
            .err()
            .filter(|failure| planted.breaks().contains(&failure.broken.rule))
    })
}

/// Does a part of the work in each of so many threads, and lets each part know when one has found something.
pub(super) fn in_threads<T: Send>(
    work: impl Fn(u64, &AtomicBool) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let found = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|part| {
                scope.spawn({
                    let (work, found) = (&work, &found);
                    move || work(part, found).inspect_err(|_| found.store(true, Ordering::Relaxed))
                })
            })
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join());
        answers
            .map(|answer| answer.unwrap_or_else(|_| Err("a part ended without an answer".to_owned())))
            .collect()
    })
}

/// A part of the schedules, until one of any part breaks a guarantee.
fn schedules(effort: &Effort, part: u64, found: &AtomicBool) -> Result<(u64, Coverage), String> {
    let mut mind = Mind::default();
    let mut steps = 0;
    for seed in (effort.first + part..effort.schedules).step_by(STRIDE) {
        if found.load(Ordering::Relaxed) {
            break;
        }
        let mut log = Log::default();
        let result = schedule::run(seed, schedule::workload_of(seed), &mut mind, &mut log);
        result.map_err(|failure| {
            let events = story::event(failure.seed, None, None).map_or_else(|why| why, |story| story.text);
            format!("{events}again: make story SEED={}", failure.seed)
        })?;
        steps += log.steps;
    }
    Ok((steps, mind.coverage))
}

/// The scopes that nobody has begun yet, one after the other, until one of any part breaks a guarantee.
fn scopes(
    effort: &Effort,
    begun: &AtomicUsize,
    found: &AtomicBool,
    say: Say<'_>,
) -> Result<Vec<(Explored, Coverage)>, String> {
    let mut all = Vec::new();
    while !found.load(Ordering::Relaxed) {
        let next = begun.fetch_add(1, Ordering::Relaxed);
        let further = further_scopes().take(effort.further_scopes);
        let Some(scope) = SCOPES.iter().cloned().chain(further).nth(next) else {
            break;
        };
        let mut mind = Mind::default();
        let explored = explore::explore(scope, effort.states, &mut mind).map_err(|path| path_words(&path))?;
        say(&explored.to_string());
        all.push((explored, mind.coverage));
    }
    Ok(all)
}

fn path_words(path: &Path) -> String {
    let steps: Vec<String> = path
        .steps
        .iter()
        .map(|step| format!("  {}", log::words(*step)))
        .collect();
    format!("{:?}\n{}\nBROKEN {}", path.scope, steps.join("\n"), path.broken)
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} workloads, {} faults at their requests, {} pairs",
            self.workloads, self.crash_points, self.pairs
        )?;
        writeln!(f, "{} planted bugs, each found", self.planted)?;
        writeln!(f, "{} random schedules, {} steps", self.schedules, self.steps)?;
        let (states, transitions) = (self.states, self.transitions);
        writeln!(
            f,
            "{states} unique states, {transitions} transitions, {} of {} scopes exhausted",
            self.exhausted, self.scopes
        )?;
        writeln!(f, "reached: {}", self.coverage)?;
        write!(f, "in {} s: every guarantee holds", self.seconds)
    }
}
