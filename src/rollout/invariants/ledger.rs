//! Guarantees about the order of events, which need a memory of past states.
//!
//! A controller sees past states. So "the next replica only when this one is ready" is checked as "only when this one
//! has been ready since the target was staged": everything that a decision saw was true once.

use super::facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts, Wanted};
use super::marks::{bit, mark};
use super::pods::PodsSeen;
use super::requests::{Request, What};

/// The past states since the target was staged. Fits sets of at most 128 claims and 128 replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// The uid and the target of the set.
    of: Option<(Id, Option<Id>)>,
    /// Claims that have been updated and ready.
    done: u128,
    // The next marks are kept for every target of the set, because a view may still show the state; and separately,
    // because two views may be of different times.
    /// Claims that did not exist.
    absent: u128,
    /// Claims that had no volume.
    unbound: u128,
    /// Claims for which only the node had work to do.
    on_the_node: u128,
    /// Claims that stopped no other.
    idle: u128,
    /// Claims on which the storage was working, for whichever target.
    moved: u128,
    /// Claims that no foreign Pod mounted; claims whose name no other set used.
    unmounted: u128,
    unambiguous: u128,
    /// Claims that no Pod mounted at some time, in this set or in a previous one of the same name: a view may still
    /// show that after the Pod, and after the set.
    unused: u128,
    pods: PodsSeen,
    /// The first ordinal of the set, and the number of its templates.
    first_ordinal: u32,
    templates: usize,
    lowest_partition: u32,
    /// The last targets of this set, the present one first.
    targets: [Option<Id>; 16],
    /// The targets of the previous set of the same name: a view may still show claims as they were then.
    former: [Option<Id>; 4],
    /// The rollout was not paused at some time.
    ran: bool,
    /// Pods were replaced in order; by hand.
    rolled: bool,
    by_hand: bool,
    /// The highest number of replicas.
    most_replicas: u32,
}

impl Ledger {
    /// Marks the present state. Call it after every change.
    pub fn observe(&mut self, scene: &Scene<'_>) {
        let Some(set) = scene.set else {
            return self.observe_leftovers(scene);
        };
        if self.of != Some((set.uid, set.target)) {
            *self = self.next(&set);
        }
        (self.first_ordinal, self.templates) = (set.first_ordinal, scene.wanted.len());
        self.ran |= !set.paused;
        self.rolled |= !set.by_hand;
        self.by_hand |= set.by_hand;
        self.lowest_partition = self.lowest_partition.min(set.partition);
        self.most_replicas = self.most_replicas.max(set.replicas).max(set.followed);
        // Claims out of range stop no other.
        let in_range = bit(set.replicas, 0, scene.wanted.len()).wrapping_sub(1);
        mark(&mut self.absent, !in_range, true);
        mark(&mut self.idle, !in_range, true);
        // A view may still show replicas that are out of range now.
        for ordinal in set.first_ordinal..set.first_ordinal.saturating_add(self.most_replicas.min(128)) {
            self.observe_replica(scene, &set, ordinal);
        }
        // When a replica comes into range, a view may show its claims as they are now.
        let most = self.most_replicas;
        for claim in scene.claims.iter().filter(|claim| set.index(claim.ordinal) >= most) {
            let mut templates = scene.templates();
            if let Some((template, wanted)) = templates.find(|(template, _)| *template == claim.template) {
                let place = bit(set.index(claim.ordinal), template, scene.wanted.len());
                self.observe_claim(claim, scene.pod(claim.ordinal), &set, wanted, place);
            }
        }
    }

    /// Without a set: when the set exists again, a view may still show claims as not mounted.
    fn observe_leftovers(&mut self, scene: &Scene<'_>) {
        for claim in scene.claims {
            let place = bit(
                claim.ordinal.saturating_sub(self.first_ordinal),
                claim.template,
                self.templates,
            );
            mark(&mut self.unused, place, is_unused(claim, scene.pod(claim.ordinal)));
        }
    }

    /// The ledger of another target, or of another set.
    fn next(&self, set: &SetFacts) -> Self {
        let of = Some((set.uid, set.target));
        let mut next = if self.of.is_some_and(|(uid, _)| uid == set.uid) {
            // If a target comes again, a view may show the states of its first time.
            let again = set.target.is_some() && self.targets.contains(&set.target);
            let marks = if again { u128::MAX } else { 0 };
            Self {
                of,
                done: marks,
                lowest_partition: if again { 0 } else { set.partition },
                most_replicas: if again { u32::MAX } else { 0 },
                ran: again,
                rolled: again,
                by_hand: again,
                ..*self
            }
        } else {
            let mut former = [None; 4];
            former.copy_from_slice(&self.targets[..4]);
            Self {
                of,
                lowest_partition: set.partition,
                unmounted: self.unused,
                unused: self.unused,
                moved: self.moved,
                former,
                ..Self::default()
            }
        };
        if set.target.is_some() && next.former.contains(&set.target) {
            next.done = u128::MAX;
        }
        next.targets.rotate_right(1);
        next.targets[0] = set.target;
        next
    }

    fn observe_replica(&mut self, scene: &Scene<'_>, set: &SetFacts, ordinal: u32) {
        let pod = scene.pod(ordinal);
        let place = bit(set.index(ordinal), 0, 1);
        self.pods.observe(pod, place);
        for (template, wanted) in scene.templates() {
            let place = bit(set.index(ordinal), template, scene.wanted.len());
            match scene.claim(template, ordinal) {
                Some(claim) => self.observe_claim(claim, pod, set, wanted, place),
                None => self.observe_none(pod, place),
            }
        }
    }

    /// Without a claim: when the claim exists, a view may still show its surroundings as they are now.
    fn observe_none(&mut self, pod: Option<&PodFacts>, place: u128) {
        mark(&mut self.absent, place, true);
        mark(&mut self.idle, place, true);
        mark(&mut self.unmounted, place, true);
        mark(&mut self.unused, place, pod.is_none());
        mark(&mut self.unambiguous, place, true);
    }

    fn observe_claim(
        &mut self,
        claim: &ClaimFacts,
        pod: Option<&PodFacts>,
        set: &SetFacts,
        wanted: Wanted,
        place: u128,
    ) {
        mark(&mut self.unbound, place, !claim.bound);
        mark(&mut self.on_the_node, place, claim.on_the_node);
        mark(&mut self.idle, place, stops_nobody(claim, set.parallel));
        mark(&mut self.moved, place, claim.moves());
        mark(&mut self.unmounted, place, !claim.mounted_by_another);
        mark(&mut self.unused, place, is_unused(claim, pod));
        mark(&mut self.unambiguous, place, !claim.ambiguous);
        if let Some(target) = set.target {
            mark(&mut self.done, place, claim.is_done(target, wanted));
        }
    }

    /// S5, second part: at some time since the target was staged, the ordinal of the claim was in range; and at some
    /// time of the set or before it, no foreign Pod mounted the claim, and no other set had a claim of the same name.
    ///
    /// # Errors
    /// [`Broken`] names the ordinal.
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
                format!("wrote to a claim that another set or Pod uses, ordinal {ordinal}"),
            );
        }
        Ok(())
    }

    /// S9, second part: a write to a claim has a present or past target of this set, not that of another set, and not
    /// one that the rules forbid; and the rollout was not paused all the time.
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
        if !self.targets.contains(&Some(revision)) {
            return Broken::of(
                Rule::S9,
                format!("wrote {revision:x} to ordinal {ordinal}, which was never the target"),
            );
        }
        if !self.ran && self.of.is_some_and(|(_, target)| target == Some(revision)) {
            return Broken::of(Rule::S9, format!("wrote to ordinal {ordinal} of a paused rollout"));
        }
        Ok(())
    }

    /// S6: highest ordinal first. A replica is started only when every higher one has been ready, or when an earlier
    /// target left it in motion. Replicas below the partition are left alone, and no more replicas are in motion than may
    /// be. If Pods are replaced by hand, a replica is started when its Pod has been deleted. A replica whose Pod has been
    /// not Ready comes before all others.
    ///
    /// # Errors
    /// [`Broken`] names the replica that came too early.
    pub fn s6_order(&self, request: &Request, before: &Scene<'_>) -> Result<(), Broken> {
        let Some(set) = before.set else {
            return Ok(());
        };
        match request.what {
            What::Apply { ordinal, revision, .. }
                if self.of == Some((set.uid, Some(revision))) && request.is_for(before) =>
            {
                if set.index(ordinal) < self.lowest_partition && !self.by_hand {
                    return Broken::of(Rule::S6, format!("wrote to ordinal {ordinal}, below the partition"));
                }
                let place = bit(set.index(ordinal), 0, 1);
                if !self.rolled && self.pods.absent & place == 0 {
                    return Broken::of(
                        Rule::S6,
                        format!("wrote to ordinal {ordinal}, whose Pod nobody has deleted"),
                    );
                }
                let has_moved = places(&set, ordinal, before.wanted.len()).any(|place| self.moved & place != 0);
                if self.by_hand || has_moved || self.pods.unready & place != 0 {
                    return Ok(());
                }
                let has_passed = |higher: u32| {
                    // A claim that needs a Pod to make progress stops no other while there is no Pod.
                    let absent = self.pods.absent & bit(set.index(higher), 0, 1) != 0;
                    let waits = |marks| if absent { marks } else { 0 };
                    let passed = [self.done, self.idle, waits(self.unbound), waits(self.on_the_node)];
                    all(&passed, &set, higher, before.wanted.len())
                };
                let higher = set.ordinals().filter(|higher| *higher > ordinal);
                let waiting: Vec<u32> = higher.filter(|higher| !has_passed(*higher)).collect();
                if waiting.len() < set.max_in_motion as usize {
                    return Ok(());
                }
                let why = format!("wrote to ordinal {ordinal} before {waiting:?} were ready");
                Broken::of(Rule::S6, why)
            }
            _ => Ok(()),
        }
    }
}

/// True iff every claim of a replica has one of these marks.
fn all(marks: &[u128], set: &SetFacts, ordinal: u32, templates: usize) -> bool {
    places(set, ordinal, templates).all(|place| marks.iter().any(|marks| marks & place != 0))
}

/// The places of the claims of a replica.
fn places(set: &SetFacts, ordinal: u32, templates: usize) -> impl Iterator<Item = u128> + use<> {
    let index = set.index(ordinal);
    (0..)
        .take(templates)
        .map(move |template| bit(index, template, templates))
}

/// True iff no Pod mounts the claim.
const fn is_unused(claim: &ClaimFacts, pod: Option<&PodFacts>) -> bool {
    !claim.mounted_by_another && pod.is_none()
}

/// True iff the claim is being deleted, or is stuck with `Parallel`.
fn stops_nobody(claim: &ClaimFacts, parallel: bool) -> bool {
    let stuck = claim.stuck || claim.refused || !claim.bound || claim.is_foreign();
    claim.terminating || (parallel && stuck)
}
