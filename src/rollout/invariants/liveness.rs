//! Guarantees about whole traces: what is reached when faults have stopped, and at which cost.

use std::collections::BTreeMap;

use super::facts::{Broken, ClaimFacts, Id, Rule, Scene};
use super::quota::excess;
use super::turn::s6_in_turn;

/// The writes of a whole rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Claims of replicas in range and not below the partition.
    pub claims: u32,
    /// Replicas that changed.
    pub replicas: u32,
    /// Writes to claims.
    pub claim_writes: u32,
    /// Writes of the annotation `ready`.
    pub ready_writes: u32,
    /// Writes of the staged change.
    pub staged_change_writes: u32,
    /// Writes of the ClaimRollout.
    pub report_writes: u32,
}

/// An apply that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The time in seconds.
    pub at: u64,
    /// The uid of the claim.
    pub claim: Id,
    /// The resourceVersion of the claim.
    pub version: Id,
    /// The revision that was applied.
    pub revision: Id,
}

/// An Event for a stuck claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EmittedEvent {
    /// The uid of the claim.
    pub claim: Id,
    /// Why the claim is stuck.
    pub cause: Id,
}

/// L1: without obstacles, every claim from the partition up is updated and ready, every such Pod runs its update
/// revision, and the phase is `Complete`, but for claims that were scaled away and wait for their nodes. L2 (after a crash anywhere), L3 (when an obstacle was removed), L4 (claims
/// that were created later) and L6 (another target, or none) require the same.
///
/// # Errors
/// [`Broken`] names what is missing.
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
                    let why = format!("ordinal {ordinal}: the claim is not at {target:x} and ready: {found:x?}");
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
    let waits_for_its_node =
        |claim: &&ClaimFacts| set.is_scaled_away(claim.ordinal) && claim.waits_for_the_node(target);
    let waits = scene.claims.iter().any(|claim| waits_for_its_node(&claim));
    if set.partition == 0 && !set.complete && !waits {
        return Broken::of(
            Rule::L1,
            "every claim is ready, and the phase is not Complete".to_owned(),
        );
    }
    Ok(())
}

/// L5, within a set: when nothing changes any more, no claim whose turn it is remains to be written. A stuck replica
/// stops only the replicas after it, and none with `Parallel`. Changes of claims after the end of the rollout are
/// noticed when the set changes.
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
    // A rollout that does not fit is not started.
    if excess(scene).is_some() {
        return Ok(());
    }
    // What an earlier staging left in motion waits for the others in motion.
    let waits = |claim: &&ClaimFacts| may_be_written(claim, target) && !claim.moves();
    let mut waiting = scene.claims.iter().filter(waits);
    match waiting.find(|claim| s6_in_turn(scene, claim.ordinal).is_ok()) {
        Some(claim) => {
            let why = format!("ordinal {} is stopped by another replica that is stuck", claim.ordinal);
            Broken::of(Rule::L5, why)
        }
        None => Ok(()),
    }
}

/// L1, where Pods are replaced by hand: without obstacles, no claim is outdated whose Pod was deleted after the target
/// was staged. Whether the ClaimRollout was deleted does not matter.
///
/// # Errors
/// [`Broken`] names the Pod that would have to be deleted once more.
pub fn l1_follows_hand(scene: &Scene<'_>) -> Result<(), Broken> {
    let Some(set) = scene.set.filter(|set| set.by_hand && !set.paused && !set.complete) else {
        return Ok(());
    };
    let (Some(target), false) = (set.target, set.terminating) else {
        return Ok(());
    };
    let was_deleted = |ordinal| scene.pod(ordinal).is_none_or(|pod| pod.going || pod.after_staging);
    let waits = |claim: &&ClaimFacts| {
        let in_range = set.ordinals().any(|ordinal| ordinal == claim.ordinal);
        in_range && may_be_written(claim, target) && was_deleted(claim.ordinal)
    };
    match scene.claims.iter().find(waits) {
        Some(claim) => {
            let why = format!(
                "the claim of ordinal {} waits, although its Pod was deleted",
                claim.ordinal
            );
            Broken::of(Rule::L1, why)
        }
        None => Ok(()),
    }
}

/// True iff nothing about the claim itself keeps the controller from writing it.
fn may_be_written(claim: &ClaimFacts, target: Id) -> bool {
    let is_free = claim.bound && !claim.terminating && !claim.stuck && !claim.is_foreign();
    is_free && claim.revision != Some(target)
}

/// S12: an undisturbed rollout takes one write for each claim; with `LockStep`, at most one of `ready` for each
/// replica; one of the staged change; and at most `REPORTS` of the ClaimRollout for each replica that changed.
///
/// # Errors
/// [`Broken`] contains the numbers.
pub fn s12_writes(tally: &Tally) -> Result<(), Broken> {
    /// Started, written, expanding, ready; and the start and the end of the rollout.
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

/// S12, for reads: the claims of a set for which nothing was left to do are not read again because its status has
/// changed. The parameters identify everything else that is watched of the set: as it was then, if it was, and now.
///
/// # Errors
/// [`Broken`] if nothing else has changed.
pub fn s12_reads_nothing(settled: Option<Id>, now: Id) -> Result<(), Broken> {
    if settled == Some(now) {
        return Broken::of(Rule::S12, "read the claims of a settled set again".to_owned());
    }
    Ok(())
}

/// S12: a write names no version of an object that a reply to the same controller has shown to be outdated. It could only
/// be denied.
///
/// # Errors
/// [`Broken`] contains both versions.
pub fn s12_knows_replies(version: Id, replied: Option<Id>) -> Result<(), Broken> {
    match replied.filter(|replied| version < *replied) {
        Some(replied) => {
            let why = format!("a write names version {version}, although a reply has shown version {replied}");
            Broken::of(Rule::S12, why)
        }
        None => Ok(()),
    }
}

/// S13: a controller retries a failed apply after a pause, which doubles from one second to five minutes while neither
/// the claim nor the target changes and the controller is not restarted.
///
/// # Errors
/// [`Broken`] contains the pauses.
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

/// S13: a write without an answer counts as denied only if one object of the set has not been answered for about a minute:
/// six times in a row. `unanswered` is the longest such row, of the same controller.
///
/// # Errors
/// [`Broken`] contains the number.
pub fn s13_awaits_answers(unanswered: u8) -> Result<(), Broken> {
    const MINUTE: u8 = 6;
    if unanswered < MINUTE {
        let why = format!("a write counted as denied after {unanswered} without an answer");
        return Broken::of(Rule::S13, why);
    }
    Ok(())
}

/// S13: a reconcile that failed is repeated after a second, and after twice as long for each more in a row, up to a minute.
///
/// # Errors
/// [`Broken`] contains the pause.
pub fn s13_repeats_failures(in_a_row: u8, pause: u64) -> Result<(), Broken> {
    let expected = (1_u64 << in_a_row.saturating_sub(1).min(6)).min(60);
    if pause != expected {
        let why = format!("reconcile {in_a_row} that failed is repeated after {pause} s, expected {expected} s");
        return Broken::of(Rule::S13, why);
    }
    Ok(())
}

/// S13: one Event for each claim and cause, until the claim has another cause.
///
/// # Errors
/// [`Broken`] contains the repeated Event.
pub fn s13_reports_once(events: &[EmittedEvent]) -> Result<(), Broken> {
    let mut last = BTreeMap::new();
    match events
        .iter()
        .find(|event| last.insert(event.claim, event.cause) == Some(event.cause))
    {
        Some(twice) => Broken::of(Rule::S13, format!("emitted twice: {twice:?}")),
        None => Ok(()),
    }
}
