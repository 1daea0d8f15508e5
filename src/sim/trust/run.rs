//! The long run of the search: with the policy alone, with the guard alone, and with both.

use std::fmt;
use std::time::Instant;

use super::super::run::{Effort, PLANTED_SCHEDULES, STRIDE, Say, in_threads};
use super::{Hole, Judges, Tried, play, search};

/// What was tried.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// With whom, and how many sequences.
    searches: Vec<(&'static str, u64)>,
    seconds: u64,
}

/// Whoever has no rights on PVCs has none changed, and each way that was open once is found if it is open.
///
/// # Errors
/// The story of the first sequence after which a PVC would change.
pub fn prove(effort: &Effort, say: Say<'_>) -> Result<Numbers, String> {
    let started = Instant::now();
    let mut numbers = Numbers::default();
    if effort.first > 0 {
        return Ok(numbers);
    }
    for hole in [Hole::Status, Hole::Owner] {
        for judges in [Judges::policy(Some(hole)), Judges::guard(Some(hole))?] {
            let found = |seed: &u64| play(*seed, &judges, &mut Tried::default()).is_err();
            let seed = (0..PLANTED_SCHEDULES).find(found);
            let seed = seed.ok_or_else(|| format!("{hole:?} of the {} was not found", judges.name))?;
            say(&format!("{hole:?} of the {}: sequence {seed}: S18", judges.name));
        }
    }
    for (judges, sequences) in [
        (Judges::policy(None), effort.sequences),
        (Judges::guard(None)?, effort.sequences / 2),
        (Judges::both(None, None)?, effort.sequences),
    ] {
        let tried = in_threads(|part, found| search((part, sequences, STRIDE), &judges, found))?;
        let sum = |of: fn(&Tried) -> u64| tried.iter().map(of).sum::<u64>();
        let sequences = sum(|tried| tried.sequences);
        say(&format!(
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

impl fmt::Display for Numbers {
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
