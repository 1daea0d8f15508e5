//! The world: what may happen, the API server, other controllers and users.

use super::objects::{
    AnewAction, AnewClaim, AnewObjects, AnewPod, AnewSnapshot, AnewStep, MOST, MOST_SNAPSHOTS, MadeFrom,
};
use super::process::{AnewProcess, AnewProcesses, IndexedClaim, OfAnew};
use super::scopes::AnewScope;
use super::transition::AnewEvent;
use crate::rollout::invariants::{
    AcceptedFacts, Broken, l8_no_second_away, s4_deletes_only_marked, s4_evicts_only_for_marked,
};
use crate::rollout::machine::WriteReply;

/// The object has changed, or does not exist.
pub(super) const OVERTAKEN: WriteReply<OfAnew> = WriteReply::Overtaken((), String::new());

/// The most stagings.
const STAGINGS: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewWorld {
    pub(super) replicas: usize,
    pub(super) objects: AnewObjects,
    pub(super) snapshots: [Option<AnewSnapshot>; MOST_SNAPSHOTS],
    /// The VolumeSnapshotClass that is asked for.
    pub(super) asks_snapshot: Option<u8>,
    /// What is staged: the number of the staging, and the annotation `staged-at`.
    pub(super) staging: Option<u8>,
    pub(super) staged_at: Option<u32>,
    /// When the annotation was first written, by the clock of the API server, for each staging.
    written: [Option<u32>; STAGINGS + 1],
    pub(super) has_report: bool,
    pub(super) is_on: bool,
    pub(super) is_paused: bool,
    pub(super) is_parallel: bool,
    /// The staged change is a growth in place.
    pub(super) grows: bool,
    /// The budget allows no eviction.
    pub(super) is_budget_used: bool,
    /// The policy is called for new PVCs.
    pub(super) is_policy_called: bool,
    pub(super) is_complete: bool,
    pub(super) processes: AnewProcesses,
    /// The replicas that are away because of us.
    pub(super) away: [bool; MOST],
    /// How many hours have passed, and by how many the clock of the controllers is ahead.
    hours: u8,
    ahead: u8,
    uids: u8,
    /// The actions that users may still take.
    pub(super) actions: u8,
}

impl AnewWorld {
    pub(super) fn start(scope: &AnewScope) -> Self {
        let mut objects = AnewObjects {
            claims: [None; MOST],
            pods: [None; MOST],
        };
        for index in 0..scope.replicas {
            let is_restored = scope.grows && index == 0;
            objects.claims[index] = Some(AnewClaim {
                number: 0,
                version: 0,
                created: 0,
                from: if is_restored { MadeFrom::Restored } else { MadeFrom::Old },
                is_bound: true,
                is_terminating: false,
                mark: None,
                is_foreign: false,
            });
            objects.pods[index] = Some(AnewPod {
                uid: 0,
                of: (0, 0),
                is_ready: true,
                is_terminating: false,
            });
        }
        let process = AnewProcess::started(objects);
        Self {
            replicas: scope.replicas,
            objects,
            snapshots: [None; MOST_SNAPSHOTS],
            asks_snapshot: scope.asks_snapshot.then_some(0),
            staging: Some(1),
            staged_at: None,
            written: [None; STAGINGS + 1],
            has_report: true,
            is_on: true,
            is_paused: false,
            is_parallel: scope.is_parallel,
            grows: scope.grows,
            is_budget_used: false,
            is_policy_called: true,
            is_complete: false,
            processes: AnewProcesses([Some(process.clone()), (scope.processes > 1).then_some(process)]),
            away: [false; MOST],
            hours: 0,
            ahead: u8::from(scope.is_clock_ahead),
            uids: 1,
            actions: scope.actions,
        }
    }

    /// The time by the clock of the API server: it goes on with each object, by fewer than five minutes within an hour.
    pub(super) fn stamp(&self) -> u32 {
        u32::from(self.hours) * 3600 + u32::from(self.uids) * 3
    }

    /// The time by the clock of our controllers.
    pub(super) fn now(&self) -> u32 {
        u32::from(self.hours + self.ahead) * 3600 + 299
    }

    /// When the annotation `staged-at` of this staging was first written.
    pub(super) fn first_written(&self, staging: u8) -> Option<u32> {
        self.written[usize::from(staging)]
    }

    /// True iff the PVC has a VolumeSnapshot that counts.
    pub(super) fn has_snapshot(&self, index: usize, number: u8) -> bool {
        let staged = self.staging.and_then(|staging| self.first_written(staging));
        self.snapshots.iter().flatten().any(|one| {
            let (at, of, ..) = one.name;
            let is_fresh = staged.is_some_and(|staged| one.taken > staged) && self.stamp() - one.taken <= 300;
            (at, of) == (index, number) && Some(one.class) == self.asks_snapshot && one.is_ready && is_fresh
        })
    }

    pub(super) fn facts(&self, index: usize, staging: Option<u8>) -> AcceptedFacts {
        let written = staging.and_then(|staging| self.first_written(staging));
        let claim = self.objects.claims[index];
        claim.map_or_else(AcceptedFacts::default, |claim| AcceptedFacts {
            is_ours: !claim.is_foreign,
            differs: claim.from == MadeFrom::Old && !self.grows,
            is_new: written.is_none_or(|written| claim.created >= written),
            is_marked: claim.mark.is_some() && claim.mark == staging,
            is_terminating: claim.is_terminating,
        })
    }

    /// True iff the rollout has ended, or a user has to act.
    pub(super) fn is_ended(&self) -> bool {
        let keeps_marks = !self.is_paused && self.is_on && self.staging.is_some();
        let is_left = |claim: &AnewClaim| claim.mark.is_some() && !claim.is_terminating && !claim.is_foreign;
        let begun = |claim: &AnewClaim| claim.mark.is_some() && claim.mark == self.staging && claim.is_terminating;
        let claims = || self.objects.claims.iter().flatten();
        if !keeps_marks && claims().any(is_left) && !claims().any(begun) {
            return false;
        }
        // Who deletes a PVC without us has to delete its Pod, too.
        let needs_user = claims().any(|claim| {
            let is_of_user = claim.is_foreign || (claim.is_terminating && claim.mark != self.staging);
            is_of_user || claim.from == MadeFrom::Restored || (claim.from == MadeFrom::Old && claim.number > 0)
        });
        let is_only = self.replicas == 1 && self.asks_snapshot.is_none();
        // There is no room for more.
        let is_full = self.snapshots.iter().all(Option::is_some);
        let is_held = self.is_paused || self.is_budget_used || !self.is_on || is_only || is_full;
        self.is_complete || needs_user || is_held || self.staging.is_none() || self.ahead > 0
    }

    /// What other controllers do.
    pub(super) fn go_on(&mut self, event: AnewEvent) {
        match event {
            AnewEvent::CreateClaim(index) => {
                self.uids += 1;
                let from = self.staging.filter(|_| self.is_policy_called);
                self.objects.claims[index] = Some(AnewClaim {
                    number: self.uids,
                    version: 0,
                    created: self.stamp(),
                    from: from.map_or(MadeFrom::Old, MadeFrom::Desired),
                    is_bound: false,
                    is_terminating: false,
                    mark: None,
                    is_foreign: false,
                });
            }
            AnewEvent::CreatePod(index) => {
                self.uids += 1;
                self.objects.pods[index] = self.objects.claims[index].map(|claim| AnewPod {
                    uid: self.uids,
                    of: (claim.number, claim.created),
                    is_ready: false,
                    is_terminating: false,
                });
            }
            AnewEvent::Bind(index) => change(&mut self.objects.claims[index], |claim| claim.is_bound = true),
            AnewEvent::BecomeReady(index) => {
                self.objects.pods[index].iter_mut().for_each(|pod| pod.is_ready = true);
            }
            AnewEvent::EndPod(index) => self.objects.pods[index] = None,
            AnewEvent::EndClaim(index) => self.objects.claims[index] = None,
            AnewEvent::FinishSnapshot(place) => {
                let snapshots = self.snapshots[place].iter_mut();
                snapshots.for_each(|snapshot| snapshot.is_ready = true);
            }
            _ => {}
        }
    }

    /// The next request of a controller.
    pub(super) fn sending(&self, place: usize) -> Option<AnewStep> {
        self.processes.0[place].as_ref()?.sending()
    }

    /// Replicas that were away because of us and are there again.
    pub(super) fn come_back(&mut self) {
        for index in 0..self.replicas {
            self.away[index] &= !self.is_there(index);
        }
    }

    /// True iff the Pod is Ready, and its PVC stays.
    pub(super) fn is_there(&self, index: usize) -> bool {
        let claim = self.objects.claims[index].filter(|claim| claim.is_bound && !claim.is_terminating);
        let pod = self.objects.pods[index].filter(|pod| pod.is_ready && !pod.is_terminating);
        claim.is_some() && pod.is_some()
    }

    /// The API server answers a write of ours.
    pub(super) fn accept(&mut self, step: AnewStep) -> Result<WriteReply<OfAnew>, Broken> {
        let is = |claim: &Option<AnewClaim>, number, version| {
            claim.is_some_and(|claim| (claim.number, claim.version) == (number, version))
        };
        match step {
            AnewStep::SeenAt(staging, at) if self.staging == Some(staging) => {
                self.written[usize::from(staging)].get_or_insert(self.stamp());
                self.staged_at = Some(at);
            }
            AnewStep::Apply(index, number, version, staging) if is(&self.objects.claims[index], number, version) => {
                let from = MadeFrom::Desired(staging);
                return Ok(self.stored(index, |claim| claim.from = from));
            }
            AnewStep::Mark(index, number, version, staging) if is(&self.objects.claims[index], number, version) => {
                return Ok(self.stored(index, |claim| claim.mark = Some(staging)));
            }
            AnewStep::Unmark(index, number, version) if is(&self.objects.claims[index], number, version) => {
                return Ok(self.stored(index, |claim| claim.mark = None));
            }
            AnewStep::Delete(index, number, version, staging) if is(&self.objects.claims[index], number, version) => {
                s4_deletes_only_marked(self.facts(index, Some(staging)))?;
                l8_no_second_away(&self.away, index)?;
                self.away[index] = true;
                self.terminate(index);
                // The shell takes a PVC that does not exist any more for one that has changed.
                let left = self.objects.claims[index].map(|claim| IndexedClaim { index, claim });
                return Ok(left.map_or(OVERTAKEN, |left| WriteReply::Done(Some(left))));
            }
            AnewStep::Evict(index, uid, staging) => {
                if self.objects.pods[index].is_none_or(|pod| pod.uid != uid || pod.is_terminating) {
                    return Ok(OVERTAKEN);
                }
                if self.is_budget_used {
                    return Ok(WriteReply::Unsure(String::new()));
                }
                // Whose PVC it is may have changed since the decision: an eviction has no precondition on it.
                s4_evicts_only_for_marked(AcceptedFacts {
                    is_ours: true,
                    ..self.facts(index, Some(staging))
                })?;
                l8_no_second_away(&self.away, index)?;
                self.away[index] = true;
                self.end_pod(index);
            }
            AnewStep::Snapshot(name, class) => {
                let is_known = self.snapshots.iter().flatten().any(|one| one.name == name);
                let place = self.snapshots.iter().position(Option::is_none);
                let Some(place) = place.filter(|_| !is_known) else {
                    return Ok(OVERTAKEN);
                };
                self.uids += 1;
                self.snapshots[place] = Some(AnewSnapshot {
                    name,
                    class,
                    taken: self.stamp(),
                    is_ready: false,
                });
            }
            AnewStep::Complete if self.staging.is_some() => self.is_complete = true,
            _ => return Ok(OVERTAKEN),
        }
        Ok(WriteReply::Done(None))
    }

    /// Changes a PVC; the reply shows it.
    fn stored(&mut self, index: usize, how: impl FnOnce(&mut AnewClaim)) -> WriteReply<OfAnew> {
        change(&mut self.objects.claims[index], how);
        let claim = self.objects.claims[index];
        WriteReply::Done(claim.map(|claim| IndexedClaim { index, claim }))
    }

    /// `kubernetes.io/pvc-protection` keeps a PVC while a Pod uses it.
    fn terminate(&mut self, index: usize) {
        if self.objects.pods[index].is_some() {
            change(&mut self.objects.claims[index], |claim| claim.is_terminating = true);
        } else {
            self.objects.claims[index] = None;
        }
    }

    fn end_pod(&mut self, index: usize) {
        if let Some(pod) = &mut self.objects.pods[index] {
            (pod.is_terminating, pod.is_ready) = (true, false);
        }
    }

    pub(super) fn act(&mut self, action: AnewAction) {
        self.actions -= 1;
        match action {
            AnewAction::FailPod(index) => self.objects.pods[index].iter_mut().for_each(|pod| pod.is_ready = false),
            AnewAction::DeletePod(index) => self.end_pod(index),
            AnewAction::DeleteClaim(index) => self.terminate(index),
            AnewAction::TakeClaimOver(index) => {
                change(&mut self.objects.claims[index], |claim| claim.is_foreign = true);
            }
            AnewAction::Pause => self.is_paused = true,
            AnewAction::Continue => self.is_paused = false,
            AnewAction::SwitchOff => self.is_on = false,
            AnewAction::UseBudget => self.is_budget_used = true,
            AnewAction::FreeBudget => self.is_budget_used = false,
            AnewAction::RemovePolicy => self.is_policy_called = false,
            AnewAction::Withdraw => (self.staging, self.staged_at) = (None, None),
            AnewAction::StageAgain => {
                self.uids += 1;
                self.staging = Some(2);
            }
            AnewAction::OtherClass => self.asks_snapshot = Some(1),
            AnewAction::DeleteReport => self.has_report = false,
            AnewAction::Wait => self.hours += 1,
        }
    }
}

fn change(claim: &mut Option<AnewClaim>, how: impl FnOnce(&mut AnewClaim)) {
    if let Some(claim) = claim {
        claim.version += 1;
        how(claim);
    }
}
