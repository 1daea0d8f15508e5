//! Guarantees about whole histories: what is reached when faults have stopped, and what it took.

use std::collections::BTreeMap;

use super::facts::{Broken, ClaimFacts, Id, Rule, Scene};
use super::quota::excess;
use super::turn::s6_in_turn;

/// How many writes it took to bring a wish to a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Claims of replicas in range and not below the partition.
    pub claims: u32,
    /// Replicas moved.
    pub replicas: u32,
    /// Writes to claims.
    pub claim_writes: u32,
    /// Writes of what is ready.
    pub ready_writes: u32,
    /// Writes of the record.
    pub staged_change_writes: u32,
    /// Writes of the ClaimRollout.
    pub report_writes: u32,
}

/// An apply that the API server refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Seconds.
    pub at: u64,
    /// The uid of the claim.
    pub claim: Id,
    /// Its resourceVersion.
    pub version: Id,
    /// What was to be applied.
    pub revision: Id,
}

/// Something that was said about a claim that is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The claim.
    pub claim: Id,
    /// What is the matter with it.
    pub cause: Id,
}

/// L1: where nothing is in the way and nobody interferes, every claim from the partition up is at the wish and ready, every
/// such Pod runs what it is to run, and the record says so. That is also what L2 (after a crash anywhere),
/// L3 (when what was in the way is gone), L4 (claims that came later) and L6 (another wish, or none) ask for.
///
/// # Errors
/// [`Broken`] says what is missing.
pub fn l1_reached(scene: &Scene<'_>) -> Result<(), Broken> {
    let Some(set) = scene.set.filter(|set| !set.terminating) else {
        return Ok(());
    };
    let Some(target) = set.target.filter(|_| !set.paused && !set.by_hand) else {
        return Ok(());
    };
    let reachable = set.ordinals().filter(|ordinal| set.reaches(*ordinal));
    for ordinal in reachable.rev() {
        for (template, wanted) in scene.templates() {
            match scene.claim(template, ordinal) {
                Some(claim) if claim.is_done(target, wanted) => {}
                found => {
                    let why =
                        format!("ordinal {ordinal}: expected a claim at {target:x} and ready, but found {found:x?}");
                    return Broken::of(Rule::L1, why);
                }
            }
        }
        if !scene
            .pod(ordinal)
            .is_some_and(|pod| pod.available && pod.revision == set.pod_revision)
        {
            return Broken::of(
                Rule::L1,
                format!("Pod {ordinal} is not replaced: {:?}", scene.pod(ordinal)),
            );
        }
    }
    if set.partition == 0 && !set.complete {
        return Broken::of(
            Rule::L1,
            "every claim is ready, and the record does not say so".to_owned(),
        );
    }
    Ok(())
}

/// L5, within a set: where nothing moves any more, no claim is left to be written whose turn it is: what is stuck stops only
/// what comes after it, and only itself with `Parallel`. What somebody does to a claim when the rollout is complete is seen
/// when the set changes.
///
/// # Errors
/// [`Broken`] names the claim that was stopped.
pub fn l5_stops_no_other(scene: &Scene<'_>) -> Result<(), Broken> {
    let Some(set) = scene.set.filter(|set| !set.paused && !set.by_hand && !set.complete) else {
        return Ok(());
    };
    let (Some(target), false) = (set.target, set.terminating) else {
        return Ok(());
    };
    // Nothing is begun that does not fit.
    if excess(scene).is_some() {
        return Ok(());
    }
    let may_be_written = |claim: &ClaimFacts| {
        let is_free = claim.bound && !claim.terminating && !claim.stuck && !claim.is_foreign();
        is_free && claim.revision != Some(target)
    };
    let mut waiting = scene.claims.iter().filter(|claim| may_be_written(claim));
    match waiting.find(|claim| s6_in_turn(scene, claim.ordinal).is_ok()) {
        Some(claim) => {
            let why = format!("ordinal {} is stopped by another that is stuck", claim.ordinal);
            Broken::of(Rule::L5, why)
        }
        None => Ok(()),
    }
}

/// S12: from request to done, undisturbed: one write for each claim; at most one of what is ready for each replica, with
/// `LockStep`; one of the record; and at most `REPORTS` of the ClaimRollout for each replica that moved.
///
/// # Errors
/// [`Broken`] shows the numbers.
pub fn s12_writes(tally: &Tally) -> Result<(), Broken> {
    /// Begun, written, expanding, ready; and the same for the beginning and the end.
    const REPORTS: u32 = 6;
    let quiet = tally.claim_writes <= tally.claims
        && tally.ready_writes <= tally.replicas
        && tally.staged_change_writes <= 1
        && tally.report_writes <= REPORTS * (tally.replicas + 1);
    if quiet {
        return Ok(());
    }
    Broken::of(Rule::S12, format!("more writes than needed: {tally:?}"))
}

/// S13: one controller that is not restarted repeats an apply that was refused after a pause, which doubles from one second
/// to five minutes as long as neither the claim nor the wish changes.
///
/// # Errors
/// [`Broken`] says after which pause it came again.
pub fn s13_backs_off(attempts: &[Attempt]) -> Result<(), Broken> {
    for (index, attempt) in attempts.iter().enumerate() {
        let same = |other: &&Attempt| (other.claim, other.revision) == (attempt.claim, attempt.revision);
        let previous: Vec<&Attempt> = attempts[..index].iter().filter(same).collect();
        let Some(last) = previous.last().filter(|last| last.version == attempt.version) else {
            continue;
        };
        let doublings = u32::try_from(previous.len() - 1).unwrap_or(16).min(16);
        let pause = (1_u64 << doublings).min(300);
        if attempt.at < last.at + pause {
            let (came, count) = (attempt.at - last.at, previous.len() + 1);
            return Broken::of(
                Rule::S13,
                format!("attempt {count} came after {came} s, expected {pause} s"),
            );
        }
    }
    Ok(())
}

/// S13: of one claim and one cause users are told once, until something else is the matter with it.
///
/// # Errors
/// [`Broken`] names what was said twice.
pub fn s13_says_once(events: &[Told]) -> Result<(), Broken> {
    let mut last = BTreeMap::new();
    match events
        .iter()
        .find(|events| last.insert(events.claim, events.cause) == Some(events.cause))
    {
        Some(twice) => Broken::of(Rule::S13, format!("said twice: {twice:?}")),
        None => Ok(()),
    }
}
