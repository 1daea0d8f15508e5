//! Guarantees about the order of things, which need a memory of what has been.
//!
//! A controller sees the past. So "the next replica only when this one is ready" is judged as "only when this one has been
//! ready since the wish was made": what a decision saw was true once, and no decision may rest on what never was.

use super::facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts, Wanted};
use super::marks::{bit, mark};
use super::pods::PodsSeen;
use super::requests::{Request, What};

/// What has been since the wish was made. Fits sets of at most 128 claims and 128 replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    of: Option<(Id, Option<Id>)>,
    /// Claims that have been at the wish and ready.
    done: u128,
    // The next ones are of the set, whatever was wished then, because a view may still show it; and each of them by itself,
    // because two views may be of different times.
    /// Claims that have not been there.
    absent: u128,
    /// Claims that have had no volume.
    unbound: u128,
    /// Claims for which only the node had something to do.
    on_the_node: u128,
    /// Claims that have stopped nobody.
    idle: u128,
    /// Claims that no Pod of another has mounted, and whose names were the set's alone.
    unmounted: u128,
    unambiguous: u128,
    /// Claims that no Pod has mounted for a time, in this set or in one before it that had its name: a view may still show
    /// that after the Pod, and after the set.
    unused: u128,
    pods: PodsSeen,
    /// Where the set's ordinals begin, and how many templates it has.
    first_ordinal: u32,
    templates: usize,
    lowest_partition: u32,
    /// The last wishes of this set, the present one first.
    targets: [Option<Id>; 16],
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
            return self.observe_what_is_left(scene);
        };
        if self.of != Some((set.uid, set.target)) {
            *self = self.anew(&set);
        }
        (self.first_ordinal, self.templates) = (set.first_ordinal, scene.wanted.len());
        self.let_go |= !set.paused;
        self.rolled |= !set.by_hand;
        self.by_hand |= set.by_hand;
        self.lowest_partition = self.lowest_partition.min(set.partition);
        self.most_replicas = self.most_replicas.max(set.replicas);
        // What is out of range keeps nobody waiting.
        let in_range = bit(set.replicas, 0, scene.wanted.len()).wrapping_sub(1);
        mark(&mut self.absent, !in_range, true);
        mark(&mut self.idle, !in_range, true);
        // A view may still show what is out of range by now.
        for ordinal in set.first_ordinal..set.first_ordinal.saturating_add(self.most_replicas.min(128)) {
            self.observe_replica(scene, &set, ordinal);
        }
        // And what is not in range yet, as it is now, when it is.
        let most = self.most_replicas;
        for claim in scene.claims.iter().filter(|claim| set.index(claim.ordinal) >= most) {
            let mut templates = scene.templates();
            if let Some((template, wanted)) = templates.find(|(template, _)| *template == claim.template) {
                let place = bit(set.index(claim.ordinal), template, scene.wanted.len());
                self.observe_claim(claim, scene.pod(claim.ordinal), &set, wanted, place);
            }
        }
    }

    /// There is no set: a view may still show what is not mounted now when there is one again.
    fn observe_what_is_left(&mut self, scene: &Scene<'_>) {
        for claim in scene.claims {
            let place = bit(
                claim.ordinal.saturating_sub(self.first_ordinal),
                claim.template,
                self.templates,
            );
            mark(&mut self.unused, place, is_unused(claim, scene.pod(claim.ordinal)));
        }
    }

    /// The ledger of another wish, or of another set.
    fn anew(&self, set: &SetFacts) -> Self {
        let of = Some((set.uid, set.target));
        let mut next = if self.of.is_some_and(|(uid, _)| uid == set.uid) {
            // What is wished again may be seen as it was the first time.
            let again = set.target.is_some() && self.targets.contains(&set.target);
            let marks = if again { u128::MAX } else { 0 };
            Self {
                of,
                done: marks,
                lowest_partition: if again { 0 } else { set.partition },
                most_replicas: if again { u32::MAX } else { 0 },
                let_go: again,
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

    /// There is no claim; whose it will be, a view may show as it is now.
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
        mark(&mut self.unmounted, place, !claim.mounted_by_another);
        mark(&mut self.unused, place, is_unused(claim, pod));
        mark(&mut self.unambiguous, place, !claim.ambiguous);
        if let Some(target) = set.target {
            mark(&mut self.done, place, claim.is_done(target, wanted));
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
        if !self.targets.contains(&Some(revision)) {
            return Broken::of(
                Rule::S9,
                format!("wrote {revision:x} to ordinal {ordinal}, which nobody wishes"),
            );
        }
        if !self.let_go && self.of.is_some_and(|(_, target)| target == Some(revision)) {
            return Broken::of(Rule::S9, format!("wrote to ordinal {ordinal} while the user holds it"));
        }
        Ok(())
    }

    /// S6: highest ordinal first; a replica is begun only when every higher one has been ready; the partition is respected;
    /// at most as many replicas are in motion as may be. Where Pods are replaced by hand, a replica is begun when its Pod has been deleted.
    /// One whose Pod has been not Ready comes before all others.
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
                    return Broken::of(Rule::S6, format!("wrote to ordinal {ordinal}, below the partition"));
                }
                let place = bit(set.index(ordinal), 0, 1);
                if !self.rolled && self.pods.gone & place == 0 {
                    return Broken::of(
                        Rule::S6,
                        format!("wrote to ordinal {ordinal}, whose Pod nobody has deleted"),
                    );
                }
                if self.by_hand || self.pods.unready & place != 0 {
                    return Ok(());
                }
                let has_passed = |higher: u32| {
                    // What only a Pod could move on stops nobody while there is no Pod.
                    let gone = self.pods.gone & bit(set.index(higher), 0, 1) != 0;
                    let waits = |marks| if gone { marks } else { 0 };
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

/// Every claim of a replica has one of these marks.
fn all(marks: &[u128], set: &SetFacts, ordinal: u32, templates: usize) -> bool {
    (0..).take(templates).all(|template| {
        let place = bit(set.index(ordinal), template, templates);
        marks.iter().any(|marks| marks & place != 0)
    })
}

/// No Pod mounts it.
const fn is_unused(claim: &ClaimFacts, pod: Option<&PodFacts>) -> bool {
    !claim.mounted_by_another && pod.is_none()
}

/// About to go. What is stuck stops only itself with `Parallel`.
fn stops_nobody(claim: &ClaimFacts, parallel: bool) -> bool {
    let stuck = claim.stuck || claim.refused || !claim.bound || claim.is_foreign();
    claim.terminating || (parallel && stuck)
}
