//! Guarantees about the order of things, which need a memory of what has been.
//!
//! A controller sees the past. So "the next replica only when this one is ready" is judged as "only when this one has been
//! ready since the wish was made": what a decision saw was true once, and no decision may rest on what never was.

use super::facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts, Wanted};
use super::requests::{Request, What};

/// What has been since the wish was made. Fits sets of at most 128 claims and 128 replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    of: Option<(Id, Option<Id>)>,
    /// The last revisions of the set's Pods, the present one first.
    pods: [Option<Id>; 4],
    /// Claims that have let the next replica pass.
    passed: u128,
    /// Claims of the set that have not been there for a time, or had no volume, whatever was wished then: a view may still
    /// show that.
    absent: u128,
    /// Claims that no Pod of another has mounted for a time, and whose names were the set's alone for a time.
    unmounted: u128,
    unambiguous: u128,
    /// Claims that no Pod has mounted for a time, in this set or in one before it that had its name: a view may still show
    /// that after the Pod, and after the set.
    unused: u128,
    /// Claims that have let their Pod go.
    ready: u128,
    /// Pods that have run what they are to run, by index.
    over: u128,
    /// Pods that have not been there, or were on their way out, whatever was wished then.
    gone: u128,
    /// Pods that have not been Ready at a time when a higher one was still to be replaced, whatever was wished then.
    in_the_way: u128,
    lowest_partition: u32,
    /// The last wishes of this set, the present one first.
    wishes: [Option<Id>; 16],
    /// Those of the set before it that had its name: a view may still show claims as they were then.
    former: [Option<Id>; 4],
    /// The user has let it go on.
    let_go: bool,
    /// Pods have been replaced in order; by hand.
    rolled: bool,
    by_hand: bool,
    /// The highest number of replicas.
    most_replicas: u32,
}

impl Ledger {
    /// Takes down what there is. To be called whenever something has changed.
    pub fn observe(&mut self, scene: &Scene<'_>) {
        let Some(set) = scene.set else {
            return;
        };
        if self.of != Some((set.uid, set.wish)) {
            *self = self.anew(&set);
        }
        self.let_go |= !set.paused;
        self.rolled |= !set.by_hand;
        self.by_hand |= set.by_hand;
        let pods = Some(set.pod_revision);
        if self.pods[0] != pods {
            // Pods that go back to a revision may be seen as they were at it the first time.
            self.over = if self.pods.contains(&pods) { u128::MAX } else { 0 };
            self.pods.rotate_right(1);
            self.pods[0] = pods;
        }
        self.lowest_partition = self.lowest_partition.min(set.users_partition);
        self.most_replicas = self.most_replicas.max(set.replicas);
        // What is out of range keeps nobody waiting.
        let in_range = bit(set.replicas, 0, scene.wanted.len()).wrapping_sub(1);
        self.absent |= !in_range;
        // A view may still show what is out of range by now.
        for ordinal in set.first_ordinal..set.first_ordinal.saturating_add(self.most_replicas.min(128)) {
            self.observe_replica(scene, &set, ordinal);
        }
        self.observe_what_is_in_the_way(scene, &set);
    }

    /// With `OrderedReady` no Pod is replaced, nor made, while a lower one is not Ready.
    fn observe_what_is_in_the_way(&mut self, scene: &Scene<'_>, set: &SetFacts) {
        if set.parallel {
            return;
        }
        let mut waits = false;
        for ordinal in set.ordinals().rev() {
            let pod = scene.pod(ordinal);
            if waits && pod.is_some_and(|pod| !pod.ready) {
                self.in_the_way |= bit(set.index(ordinal), 0, 1);
            }
            waits |= pod.is_none_or(|pod| pod.going || pod.revision != set.pod_revision);
        }
    }

    /// The ledger of another wish, or of another set.
    fn anew(&self, set: &SetFacts) -> Self {
        let of = Some((set.uid, set.wish));
        let mut next = Self {
            of,
            lowest_partition: set.users_partition,
            unmounted: self.unused,
            unused: self.unused,
            former: self.former,
            ..Self::default()
        };
        if self.of.is_some_and(|(uid, _)| uid == set.uid) {
            let again = set.wish.is_some() && self.wishes.contains(&set.wish);
            (next.wishes, next.pods) = (self.wishes, self.pods);
            (next.absent, next.gone, next.in_the_way) = (self.absent, self.gone, self.in_the_way);
            (next.unmounted, next.unambiguous) = (self.unmounted, self.unambiguous);
            if again {
                // What is wished again may be seen as it was the first time.
                (next.passed, next.ready) = (u128::MAX, u128::MAX);
                (next.let_go, next.rolled, next.by_hand) = (true, true, true);
                (next.lowest_partition, next.most_replicas) = (0, u32::MAX);
            }
        } else {
            next.former.copy_from_slice(&self.wishes[..4]);
        }
        if set.wish.is_some() && next.former.contains(&set.wish) {
            (next.passed, next.ready) = (u128::MAX, u128::MAX);
        }
        next.wishes.rotate_right(1);
        next.wishes[0] = set.wish;
        next
    }

    fn observe_replica(&mut self, scene: &Scene<'_>, set: &SetFacts, ordinal: u32) {
        let pod = scene.pod(ordinal);
        let place = bit(set.index(ordinal), 0, 1);
        if pod.is_some_and(|pod| pod.ready && pod.revision == set.pod_revision) {
            self.over |= place;
        }
        if pod.is_none_or(|pod| pod.going) {
            self.gone |= place;
        }
        for (template, wanted) in scene.templates() {
            let claim = scene.claim(template, ordinal);
            let place = bit(set.index(ordinal), template, scene.wanted.len());
            if claim.is_none_or(|claim| !claim.bound) {
                self.absent |= place;
            }
            if claim.is_some_and(|claim| !claim.mounted_by_another) {
                self.unmounted |= place;
                self.unused |= if pod.is_none() { place } else { 0 };
            }
            if claim.is_some_and(|claim| !claim.ambiguous) {
                self.unambiguous |= place;
            }
            let Some(wish) = set.wish else {
                continue;
            };
            if lets_pass(claim, wish, wanted, pod, set.parallel) {
                self.passed |= place;
            }
            if lets_pod_go(claim, wish, wanted, pod, set) {
                self.ready |= place;
            }
        }
    }

    /// S5, another part: the ordinal of a claim that is written has been in range since the wish was made, no Pod of
    /// another has mounted it as long as there has been the set, or since before it, nor has another set given it the same
    /// name.
    ///
    /// # Errors
    /// [`Broken`] says what is around the claim.
    pub fn s5_around(&self, request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
        let (
            What::Apply {
                template,
                ordinal,
                revision,
                ..
            },
            Some(set),
        ) = (request.what, before.set)
        else {
            return Ok(());
        };
        if self.of != Some((set.uid, Some(revision))) || !request.is_for(before) {
            return Ok(());
        }
        if set.index(ordinal) >= self.most_replicas {
            return Broken::of(Rule::S5, format!("wrote to ordinal {ordinal}, which is out of range"));
        }
        let place = bit(set.index(ordinal), template, before.wanted.len());
        let used = before.claim(template, ordinal).is_some_and(|claim| {
            (claim.mounted_by_another && self.unmounted & place == 0)
                || (claim.ambiguous && self.unambiguous & place == 0)
        });
        if used {
            return Broken::of(
                Rule::S5,
                format!("wrote to a claim that another uses, ordinal {ordinal}"),
            );
        }
        Ok(())
    }

    /// S9, another part: what is written to a claim is what the set's own record asks for, or has asked for: not that of
    /// another set, not what the rules forbid, and not while the user has never let it go on.
    ///
    /// # Errors
    /// [`Broken`] for a write that nobody asked for.
    pub fn s9_asked_for(&self, request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
        let What::Apply { revision, ordinal, .. } = request.what else {
            return Ok(());
        };
        if !request.is_for(before) {
            return Ok(());
        }
        if !self.wishes.contains(&Some(revision)) {
            return Broken::of(
                Rule::S9,
                format!("wrote {revision:x} to ordinal {ordinal}, which nobody wishes"),
            );
        }
        if !self.let_go && self.of.is_some_and(|(_, wish)| wish == Some(revision)) {
            return Broken::of(Rule::S9, format!("wrote to ordinal {ordinal} while the user holds it"));
        }
        Ok(())
    }

    /// S6: highest ordinal first; a replica is begun only when every higher one has been ready; the user's partition is
    /// respected; at most one replica is in motion. A hold ends with the user's own partition. Where Pods are replaced by
    /// hand, a replica is begun when its Pod has been deleted. Where a higher Pod is not replaced because this one is not Ready,
    /// this one need not wait (`OrderedReady`).
    ///
    /// # Errors
    /// [`Broken`] says which replica came too early.
    pub fn s6_order(&self, request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
        let Some(set) = before.set else {
            return Ok(());
        };
        match request.what {
            What::Apply { ordinal, revision, .. }
                if self.of == Some((set.uid, Some(revision))) && request.is_for(before) =>
            {
                if set.index(ordinal) < self.lowest_partition && !self.by_hand {
                    return Broken::of(
                        Rule::S6,
                        format!("wrote to ordinal {ordinal}, below the user's partition"),
                    );
                }
                let place = bit(set.index(ordinal), 0, 1);
                if !self.rolled && self.gone & place == 0 {
                    return Broken::of(
                        Rule::S6,
                        format!("wrote to ordinal {ordinal}, whose Pod nobody has deleted"),
                    );
                }
                if self.by_hand || self.in_the_way & place != 0 {
                    return Ok(());
                }
                for higher in set.ordinals().filter(|higher| *higher > ordinal) {
                    if !self.all(self.passed | self.absent, &set, higher, before.wanted.len()) {
                        let why = format!("wrote to ordinal {ordinal} before ordinal {higher} was ready");
                        return Broken::of(Rule::S6, why);
                    }
                }
                Ok(())
            }
            What::Partition { to, lift: true } if to.is_some_and(|to| to != set.users_partition) => {
                let users = set.users_partition;
                Broken::of(
                    Rule::S6,
                    format!("ended a hold with partition {to:?}, but the user's is {users}"),
                )
            }
            What::Partition {
                to: Some(to),
                lift: false,
            } if to < self.lowest_partition => Broken::of(Rule::S6, format!("partition {to} is below the user's")),
            _ => Ok(()),
        }
    }

    /// S7: with `LockStep` a Pod is released only when each of its claims has been absent or at the wish and ready, and
    /// when the Pods above it have been replaced. A hold that ends while the wish is being rolled out releases all.
    ///
    /// # Errors
    /// [`Broken`] says which Pod came too early.
    pub fn s7_claims_first(&self, request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
        let (What::Partition { to, .. }, Some(set)) = (request.what, before.set) else {
            return Ok(());
        };
        if set.wish.is_none() || !set.lock_step || set.complete || to.is_none() {
            return Ok(());
        }
        let to = to.unwrap_or(set.users_partition).max(set.users_partition);
        for ordinal in set.ordinals().filter(|ordinal| set.index(*ordinal) >= to) {
            if !self.all(self.ready | self.absent, &set, ordinal, before.wanted.len()) {
                return Broken::of(Rule::S7, format!("released Pod {ordinal} before its claims were ready"));
            }
            if set.index(ordinal) > to && self.over & bit(set.index(ordinal), 0, 1) == 0 {
                return Broken::of(Rule::S7, format!("partition {to} before Pod {ordinal} was replaced"));
            }
        }
        Ok(())
    }

    fn all(&self, marks: u128, set: &SetFacts, ordinal: u32, templates: usize) -> bool {
        (0..)
            .take(templates)
            .all(|template| marks & bit(set.index(ordinal), template, templates) != 0)
    }
}

fn bit(index: u32, template: u32, templates: usize) -> u128 {
    let templates = u32::try_from(templates).unwrap_or(1);
    let place = index.saturating_mul(templates).saturating_add(template);
    1_u128.checked_shl(place).unwrap_or(0)
}

/// Done, or not there, or about to go. What is stuck stops only itself with `Parallel`; what only a Pod could move on stops
/// nobody while there is no Pod.
fn lets_pass(claim: Option<&ClaimFacts>, wish: Id, wanted: Wanted, pod: Option<&PodFacts>, parallel: bool) -> bool {
    let Some(claim) = claim else {
        return true;
    };
    let waits_for_pod = pod.is_none_or(|pod| pod.going) && (!claim.bound || claim.on_the_node);
    let stopped =
        parallel && (claim.stuck || !claim.bound || !claim.ours || claim.mounted_by_another || claim.ambiguous);
    claim.terminating || claim.is_done(wish, wanted) || waits_for_pod || stopped
}

/// Ready, or not there; or one that has no volume, or for which only the node still has to do something, before the Pod is
/// replaced.
fn lets_pod_go(claim: Option<&ClaimFacts>, wish: Id, wanted: Wanted, pod: Option<&PodFacts>, set: &SetFacts) -> bool {
    let Some(claim) = claim else {
        return true;
    };
    let on_the_node = claim.on_the_node && claim.revision == Some(wish);
    let replaced = pod.is_some_and(|pod| !pod.going && pod.revision == set.pod_revision);
    claim.is_done(wish, wanted) || ((on_the_node || !claim.bound) && !replaced)
}
