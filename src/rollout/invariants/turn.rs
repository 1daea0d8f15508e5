//! The turn of a replica, as the decision saw it.
//!
//! One decision sees the cluster at about one time, so it is checked by everything that it saw. [`super::Ledger`]
//! allows for views that are older than the cluster.

use super::facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts};

/// S6, as the decision saw it: a replica is started only if no more others are in motion than may be, and every replica
/// before it was reached: first replicas whose Pod is not Ready, then higher ordinals, and last those that were scaled away.
/// With LockStep, the Pods of those were replaced as well.
///
/// # Errors
/// [`Broken`] names the replica whose turn it was.
pub fn s6_in_turn(seen: &Scene<'_>, ordinal: u32) -> Result<(), Broken> {
    let (Some(set), false) = (seen.set, seen.set.is_none_or(|set| set.by_hand)) else {
        return Ok(());
    };
    let (Some(target), false) = (set.target, set.paused) else {
        return Broken::of(
            Rule::S6,
            format!("wrote to ordinal {ordinal} although nothing is rolled out"),
        );
    };
    let turn = Turn { seen, set, target };
    if !set.reaches(ordinal) && !set.is_scaled_away(ordinal) {
        return Broken::of(
            Rule::S6,
            format!("ordinal {ordinal} is out of range, or below the partition"),
        );
    }
    // Replicas in motion are finished.
    if turn.is_in_motion(ordinal) {
        return Ok(());
    }
    let others = || turn.free().filter(|other| *other != ordinal);
    let unready = turn.is_unready(ordinal);
    let is_before = |other: &u32| match [ordinal, *other].map(|one| set.is_scaled_away(one)) {
        [false, false] => *other > ordinal && !unready || turn.is_unready(*other) && (!unready || *other > ordinal),
        [is_away, is_other_away] => is_away && (!is_other_away || *other > ordinal),
    };
    // A replica that needs its Pod to make progress: that Pod may wait for the Pod of this one.
    let is_after =
        |other: &u32| turn.passes(*other) || unready && turn.is_unready(*other) && turn.waits_for_its_pod(*other);
    let pods = if unready {
        Vec::new()
    } else {
        turn.waits_for_pods(ordinal)
    };
    let is_waiting =
        |other: &u32| turn.is_in_motion(*other) || is_before(other) && !is_after(other) || pods.contains(other);
    let waiting: Vec<u32> = others().filter(is_waiting).collect();
    // A stuck replica stops all others, unless it stops none.
    let stuck = waiting
        .iter()
        .find(|other| turn.is_stuck(**other) && !turn.passes(**other));
    if let Some(other) = stuck {
        return Broken::of(Rule::S6, format!("ordinal {ordinal} is written while {other} is stuck"));
    }
    if waiting.len() >= set.max_in_motion as usize {
        return Broken::of(
            Rule::S6,
            format!("ordinal {ordinal} is written while {waiting:?} are in motion, or come before it"),
        );
    }
    Ok(())
}

struct Turn<'s> {
    seen: &'s Scene<'s>,
    set: SetFacts,
    target: Id,
}

impl Turn<'_> {
    /// The ordinals from the partition up, highest first.
    fn in_range(&self) -> impl Iterator<Item = u32> {
        let set = self.set;
        set.ordinals().rev().filter(move |ordinal| set.reaches(*ordinal))
    }

    /// The same, and then those that were scaled away.
    fn free(&self) -> impl Iterator<Item = u32> {
        self.in_range().chain(self.set.scaled_away().rev())
    }

    /// The claims of a replica that exist: each, whether it is done, and whether its capacity is too small.
    fn claims(&self, ordinal: u32) -> impl Iterator<Item = (&ClaimFacts, bool, bool)> {
        self.seen.templates().filter_map(move |(template, wanted)| {
            let claim = self.seen.claim(template, ordinal).filter(|claim| !claim.terminating)?;
            if self.set.is_scaled_away(ordinal) && !claim.can_follow(self.target) {
                return None;
            }
            let is_short = claim.capacity < wanted.size.min(claim.request);
            Some((claim, claim.is_done(self.target, wanted), is_short))
        })
    }

    fn pod(&self, ordinal: u32) -> Option<&PodFacts> {
        self.seen.pod(ordinal).filter(|pod| !pod.going)
    }

    fn is_unready(&self, ordinal: u32) -> bool {
        !self.set.is_scaled_away(ordinal) && self.pod(ordinal).is_some_and(|pod| !pod.ready)
    }

    /// True iff the storage is working on a claim, also for an earlier target.
    fn is_in_motion(&self, ordinal: u32) -> bool {
        self.claims(ordinal).any(|(claim, is_done, is_short)| {
            let written = claim.revision == Some(self.target) && claim.bound;
            let is_elsewhere = is_done || claim.stuck || claim.on_the_node && is_short;
            let is_left = claim.revision != Some(self.target) && !claim.is_foreign() && claim.moves();
            written && !is_elsewhere || is_left
        })
    }

    /// True iff every claim is done, has no volume, or has only its file system to expand.
    fn waits_for_its_pod(&self, ordinal: u32) -> bool {
        self.claims(ordinal).all(|(claim, is_done, is_short)| {
            let is_free = claim.revision == Some(self.target) || !claim.is_foreign();
            is_done || is_free && !claim.stuck && (!claim.bound || claim.on_the_node && is_short)
        })
    }

    /// True iff no claim keeps the next replica waiting. A stuck claim does not with `Parallel`, nor does a claim that
    /// waits for a Pod while there is none.
    fn passes(&self, ordinal: u32) -> bool {
        self.claims(ordinal).all(|(claim, is_done, is_short)| {
            let written = claim.revision == Some(self.target);
            let is_in_the_way = !claim.bound || claim.stuck || !written && claim.is_foreign();
            let waits = !claim.bound || written && claim.on_the_node && is_short && !claim.stuck;
            let is_alone = waits && self.pod(ordinal).is_none();
            is_done || is_alone && (written || !claim.is_foreign()) || self.set.parallel && is_in_the_way
        })
    }

    /// True iff a claim is stuck.
    fn is_stuck(&self, ordinal: u32) -> bool {
        let is_stuck = |claim: &ClaimFacts| claim.stuck || claim.revision != Some(self.target) && claim.is_foreign();
        self.claims(ordinal).any(|(claim, ..)| is_stuck(claim))
    }

    /// The higher Pods that are to be replaced, may be replaced, and are not replaced yet.
    fn waits_for_pods(&self, ordinal: u32) -> Vec<u32> {
        let set = &self.set;
        let is_new = |pod: &PodFacts| pod.revision == set.status.update;
        let mut pods = self.in_range().filter_map(|ordinal| self.pod(ordinal));
        let mut waited_for = Vec::new();
        if !set.lock_step || set.status.observed && pods.all(is_new) {
            return waited_for;
        }
        let is_last = set.is_scaled_away(ordinal);
        for above in self.in_range().filter(|above| is_last || *above > ordinal) {
            let runs = self.pod(above).is_some_and(|pod| is_new(pod) && pod.available);
            if runs && set.status.observed {
                continue;
            }
            // The gate keeps no Pod for the claim of another object.
            let keeps = |claim: &ClaimFacts| claim.ours && claim.bound && !claim.waits_for_the_node(self.target);
            let waits = self.claims(above).any(|(claim, is_done, _)| !is_done && keeps(claim));
            if !waits {
                waited_for.push(above);
            } else if self.is_stuck(above) {
                // The StatefulSet controller replaces this Pod first, and none below it.
                break;
            }
        }
        waited_for
    }
}
