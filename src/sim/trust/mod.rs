//! Guarantee S18: a user who cannot patch PVCs changes no PVC through us, by any sequence of requests.
//!
//! bob may do everything with StatefulSets and their status, and nothing with PVCs. mallory may change both, but delete
//! and create nothing: with her requests no PVC is deleted, and no StatefulSet is replaced. Each request goes through
//! the real decision as bytes, through the deployed expressions of the guard, or through both, and is stored as an
//! API server does. After each request, the search checks what the controller would roll out and what new PVCs would
//! be created from: only the change of alice, who has the right. With the guard, a StatefulSet that is being replaced
//! exists, with the change that was staged for it.

mod guard;
mod judges;
mod manifests;
mod requests;
mod rights;
mod run;
mod store;

#[cfg(test)]
mod guard_tests;
#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

pub use run::{TrustNumbers, prove};

use self::judges::Judges;
use self::requests::BobRequest;
use self::rights::{BOB, MALLORY};
use self::store::{RequestOutcome, Store};
use super::schedule::Random;

/// The most requests of a sequence.
const MOST: usize = 5;

/// The numbers of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrustTally {
    pub(crate) sequences: u64,
    pub(crate) requests: u64,
    /// Requests that were stored: if all were denied, the search would show nothing.
    pub(crate) stored: u64,
    /// Requests that the guard denied, after the policy if there is one.
    pub(crate) guarded: u64,
}

/// The sequence of a seed.
///
/// # Errors
/// The trace, if a PVC would change.
pub(crate) fn play(seed: u64, judges: &Judges, tried: &mut TrustTally) -> Result<(), String> {
    let (mut random, mut store) = store_of(seed);
    let mut trace = Vec::new();
    tried.sequences += 1;
    for _ in 0..=random.below(MOST - 1) {
        let request = BobRequest::random(&mut random, &store.uid());
        let outcome = store.send(&request, judges);
        tried.requests += 1;
        tried.stored += u64::from(outcome == RequestOutcome::Stored);
        tried.guarded += u64::from(matches!(&outcome, RequestOutcome::Denied(by) if by.starts_with("claim-rollout")));
        trace.push((request, outcome));
        let disturbed = store.disturbed().filter(|_| judges.guard.is_some());
        if let Some(broken) = store.broken().or(disturbed) {
            return Err(trace_text(seed, judges, &trace, &store, &broken));
        }
    }
    Ok(())
}

/// The StatefulSet at the beginning. Every fourth is being replaced; mallory tries every third.
fn store_of(seed: u64) -> (Random, Store) {
    let mut random = Random::new(seed);
    let store = Store::random(&mut random, if seed % 3 == 2 { MALLORY } else { BOB });
    (random, if seed % 4 == 3 { store.marked() } else { store })
}

fn trace_text(
    seed: u64,
    judges: &Judges,
    trace: &[(BobRequest, RequestOutcome)],
    store: &Store,
    broken: &str,
) -> String {
    let (_, before) = store_of(seed);
    let (settings, before) = (before.settings_text(), before.text());
    let trace: String = trace
        .iter()
        .map(|(request, outcome)| format!("{request:?}: {outcome:?}\n"))
        .collect();
    let after = store.text();
    format!(
        "{}, seed {seed}: settings {settings}\n{before}\n{trace}{after}\nBROKEN S18: {broken}",
        judges.name
    )
}

/// Every `stride`-th sequence from `first` up to `end`, until any thread finds something.
///
/// # Errors
/// As [`play`].
pub(crate) fn search(
    (first, end, stride): (u64, u64, usize),
    judges: &Judges,
    found: &AtomicBool,
) -> Result<TrustTally, String> {
    let mut tried = TrustTally::default();
    for seed in (first..end).step_by(stride) {
        if found.load(Ordering::Relaxed) {
            break;
        }
        play(seed, judges, &mut tried)?;
    }
    Ok(tried)
}
