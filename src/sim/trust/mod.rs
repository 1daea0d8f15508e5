//! Guarantee S18: whoever cannot patch PVCs makes no PVC change through us, by any sequence of requests.
//!
//! bob may do everything with StatefulSets and their status, and nothing with PVCs. Each of his requests goes through the
//! real decision as bytes, and is stored as an API server would. After each it is asked what the controller would roll
//! out now, and what PVCs would be created from: nothing but what alice, who has the right, asked for.

mod requests;
mod store;

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use self::requests::Request;
use self::store::Store;
use super::schedule::Random;

/// The most requests of a sequence.
const MOST: usize = 5;

/// A way around the check that was open once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hole {
    /// The policy is not asked about `statefulsets/status`.
    Status,
    /// On a StatefulSet that another controller owns only the staged change itself is put back.
    Owner,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried {
    pub(crate) sequences: u64,
    pub(crate) requests: u64,
    /// Those that were let through: a search in which all are denied would show nothing.
    pub(crate) stored: u64,
}

/// The sequence of a seed.
///
/// # Errors
/// Its story, if a PVC would change.
pub(crate) fn play(seed: u64, hole: Option<Hole>, tried: &mut Tried) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut store = Store::random(&mut random, hole);
    let mut story = format!("seed {seed}: settings {}\n{}\n", store.settings_text(), store.text());
    tried.sequences += 1;
    for _ in 0..=random.below(MOST - 1) {
        let request = Request::random(&mut random, &store);
        let stored = store.send(&request);
        tried.requests += 1;
        tried.stored += u64::from(stored);
        let outcome = if stored { "stored" } else { "denied" };
        let _ = writeln!(story, "{request:?}: {outcome}");
        if let Some(broken) = store.broken() {
            return Err(format!("{story}{}\nBROKEN S18: {broken}", store.text()));
        }
    }
    Ok(())
}

/// Every `stride`-th sequence from `first` up to `end`, until something is found anywhere.
///
/// # Errors
/// As [`play`].
pub(crate) fn search(first: u64, end: u64, stride: usize, found: &AtomicBool) -> Result<Tried, String> {
    let mut tried = Tried::default();
    for seed in (first..end).step_by(stride) {
        if found.load(Ordering::Relaxed) {
            break;
        }
        play(seed, None, &mut tried)?;
    }
    Ok(tried)
}
