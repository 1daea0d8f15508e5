//! The search in CI: with the policy, with the guard, and with both.

use std::fmt;
use std::time::Instant;

use super::super::effort::{Effort, ReportProgress};
use super::super::run::PLANTED_SCHEDULES;
use super::super::threads::{STRIDE, each_in_threads, in_threads};
use super::judges::{Hole, Judges};
use super::{TrustTally, play, search};

/// The numbers of a run.
#[derive(Clone, Debug, Default)]
pub struct TrustNumbers {
    /// The admission, and the number of sequences.
    searches: Vec<(&'static str, u64)>,
    seconds: u64,
}

/// Searches for a sequence that changes a PVC, and checks that each former hole is found.
///
/// # Errors
/// The trace of the first sequence after which a PVC would change.
pub fn prove(effort: &Effort, report: ReportProgress<'_>) -> Result<TrustNumbers, String> {
    let started = Instant::now();
    let mut numbers = TrustNumbers::default();
    if effort.first > 0 {
        return Ok(numbers);
    }
    holes(report)?;
    for (judges, sequences) in [
        (Judges::policy(None), effort.sequences),
        (Judges::guard(None)?, effort.sequences / 2),
        (Judges::both(None, None)?, effort.sequences),
    ] {
        let tried = in_threads(|part, found| search((part, sequences, STRIDE), &judges, found))?;
        let sum = |of: fn(&TrustTally) -> u64| tried.iter().map(of).sum::<u64>();
        let sequences = sum(|tried| tried.sequences);
        report(&format!(
            "{}: {sequences} sequences of {} requests without rights on PVCs, {} stored, {} denied by the guard: no PVC changes",
            judges.name,
            sum(|tried| tried.requests),
            sum(|tried| tried.stored),
            sum(|tried| tried.guarded),
        ));
        numbers.searches.push((judges.name, sequences));
    }
    numbers.seconds = started.elapsed().as_secs();
    Ok(numbers)
}

/// Finds each former hole of the policy and of the guard.
fn holes(report: ReportProgress<'_>) -> Result<(), String> {
    let mut all = Vec::new();
    for hole in [Hole::Status, Hole::Owner, Hole::Rights, Hole::Replacing] {
        let of_policy = (hole != Hole::Replacing).then(|| Judges::policy(Some(hole)));
        let of_both = of_policy.into_iter().chain([Judges::guard(Some(hole))?]);
        all.extend(of_both.map(|judges| (hole, judges)));
    }
    each_in_threads(&all, |(hole, judges)| {
        let found = |seed: &u64| play(*seed, judges, &mut TrustTally::default()).is_err();
        let seed = (0..PLANTED_SCHEDULES).find(found);
        let seed = seed.ok_or_else(|| format!("{hole:?} of the {} was not found", judges.name))?;
        report(&format!("{hole:?} of the {}: sequence {seed}: S18", judges.name));
        Ok(())
    })?;
    Ok(())
}

impl fmt::Display for TrustNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let searches = self
            .searches
            .iter()
            .map(|(name, sequences)| format!("{sequences} with {name}"));
        let searches = searches.collect::<Vec<_>>().join(", ");
        write!(
            f,
            "sequences of requests without rights on PVCs: {searches}; in {} s",
            self.seconds
        )
    }
}
