//! Guarantee S18: whoever cannot patch PVCs makes no PVC change through us, by any sequence of requests.
//!
//! bob may do everything with StatefulSets and their status, and nothing with PVCs. Each of his requests goes through the
//! real decision as bytes, through the expressions of the guard as they are deployed, or through both, and is stored as an
//! API server would. After each it is asked what the controller would roll out now, and what PVCs would be created from:
//! nothing but what alice, who has the right, asked for.

mod guard;
mod requests;
mod run;
mod store;

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

pub use run::{Numbers, prove};

use self::guard::Guard;
use self::requests::Request;
use self::store::{Outcome, Store};
use super::schedule::Random;

/// The most requests of a sequence.
const MOST: usize = 5;

/// A way around the check that was open once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hole {
    /// Nobody is asked about `statefulsets/status`.
    Status,
    /// The policy puts only the staged change itself back on a StatefulSet that another controller owns; to the guard it is
    /// all the same whether the owner goes.
    Owner,
}

/// Who judges bob's requests.
#[derive(Debug)]
pub(crate) struct Judges {
    name: &'static str,
    /// Nothing where the policy is not registered; a policy that has a hole, or has none.
    policy: Option<Option<Hole>>,
    /// Nothing where the guard is not registered.
    guard: Option<Guard>,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried {
    pub(crate) sequences: u64,
    pub(crate) requests: u64,
    /// Those that were let through: a search in which all are denied would show nothing.
    pub(crate) stored: u64,
    /// Those that the guard denied, after the policy had let them through if there is one.
    pub(crate) guarded: u64,
}

impl Judges {
    /// The policy alone, perhaps with a hole.
    pub(crate) const fn policy(hole: Option<Hole>) -> Self {
        let (name, policy, guard) = ("policy", Some(hole), None);
        Self { name, policy, guard }
    }

    /// The guard alone, perhaps with a hole.
    ///
    /// # Errors
    /// If what is deployed cannot be read.
    pub(crate) fn guard(hole: Option<Hole>) -> Result<Self, String> {
        let mut manifests = guard::manifests()?;
        let staged = |policy: &&mut Value| policy["metadata"]["name"] == "claim-rollout-staged";
        let staged = &mut manifests
            .iter_mut()
            .find(staged)
            .ok_or("expected the policy of staged changes")?["spec"];
        match hole {
            None => {}
            Some(Hole::Status) => staged["matchConstraints"]["resourceRules"][0]["resources"] = "statefulsets".into(),
            Some(Hole::Owner) => {
                let variables = staged["variables"].as_array_mut().into_iter().flatten();
                for variable in variables.filter(|variable| variable["name"] == "losesOwner") {
                    variable["expression"] = "false".into();
                }
            }
        }
        let (name, policy, guard) = ("guard", None, Some(Guard::of(&manifests)?));
        Ok(Self { name, policy, guard })
    }

    /// Both, each perhaps with a hole.
    ///
    /// # Errors
    /// As [`Judges::guard`].
    pub(crate) fn both(of_policy: Option<Hole>, of_guard: Option<Hole>) -> Result<Self, String> {
        let (name, policy, guard) = ("both", Some(of_policy), Self::guard(of_guard)?.guard);
        Ok(Self { name, policy, guard })
    }

    /// Why the guard denies, if it does.
    fn guard_denies(&self, request: &Value, object: &Value, old: &Value) -> Option<String> {
        self.guard.as_ref()?.denial(request, object, old)
    }
}

/// The sequence of a seed.
///
/// # Errors
/// Its story, if a PVC would change.
pub(crate) fn play(seed: u64, judges: &Judges, tried: &mut Tried) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut store = Store::random(&mut random);
    let mut story = Vec::new();
    tried.sequences += 1;
    for _ in 0..=random.below(MOST - 1) {
        let request = Request::random(&mut random, &store);
        let outcome = store.send(&request, judges);
        tried.requests += 1;
        tried.stored += u64::from(outcome == Outcome::Stored);
        tried.guarded += u64::from(matches!(&outcome, Outcome::Denied(by) if by.starts_with("claim-rollout")));
        story.push((request, outcome));
        if let Some(broken) = store.broken() {
            return Err(events(seed, judges, &story, &store, &broken));
        }
    }
    Ok(())
}

fn events(seed: u64, judges: &Judges, story: &[(Request, Outcome)], store: &Store, broken: &str) -> String {
    let before = Store::random(&mut Random::new(seed));
    let (settings, before) = (before.settings_text(), before.text());
    let story: String = story
        .iter()
        .map(|(request, outcome)| format!("{request:?}: {outcome:?}\n"))
        .collect();
    let after = store.text();
    format!(
        "{}, seed {seed}: settings {settings}\n{before}\n{story}{after}\nBROKEN S18: {broken}",
        judges.name
    )
}

/// Every `stride`-th sequence from `first` up to `end`, until something is found anywhere.
///
/// # Errors
/// As [`play`].
pub(crate) fn search(
    (first, end, stride): (u64, u64, usize),
    judges: &Judges,
    found: &AtomicBool,
) -> Result<Tried, String> {
    let mut tried = Tried::default();
    for seed in (first..end).step_by(stride) {
        if found.load(Ordering::Relaxed) {
            break;
        }
        play(seed, judges, &mut tried)?;
    }
    Ok(tried)
}
