//! The world: what may happen, the API server, other controllers and users.

use super::objects::{AnewAction, AnewClaim, AnewObjects, AnewPod, AnewProcess, AnewStep, MOST, MadeFrom};
use super::scopes::AnewScope;
use crate::rollout::invariants::{
    AcceptedFacts, Broken, l8_no_second_away, s4_deletes_only_marked, s4_evicts_only_for_marked,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewWorld {
    pub(super) replicas: usize,
    pub(super) objects: AnewObjects,
    /// For each index, the number of the PVC of the snapshot, and whether the snapshot is ready.
    pub(super) snapshots: [Option<(u8, bool)>; MOST],
    pub(super) asks_snapshot: bool,
    pub(super) is_on: bool,
    pub(super) is_paused: bool,
    pub(super) is_parallel: bool,
    /// The budget allows no eviction.
    pub(super) is_budget_used: bool,
    /// The policy is called for new PVCs.
    pub(super) is_policy_called: bool,
    pub(super) is_complete: bool,
    pub(super) processes: [Option<AnewProcess>; 2],
    /// The replicas that are away because of us.
    pub(super) away: [bool; MOST],
    uids: u8,
    /// The actions that users may still take.
    pub(super) actions: u8,
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnewEvent {
    Start,
    /// A controller decides, sends its write, or crashes before it does.
    Decide(usize),
    Send(usize),
    Crash(usize),
    /// Its watches show the PVCs or the Pods.
    ShowClaims(usize),
    ShowPods(usize),
    /// The StatefulSet controller creates PVC and Pod.
    CreateClaim(usize),
    CreatePod(usize),
    /// Other controllers and the kubelet.
    Bind(usize),
    BecomeReady(usize),
    EndPod(usize),
    EndClaim(usize),
    FinishSnapshot(usize),
    /// Users.
    User(AnewAction),
}

impl AnewWorld {
    pub(super) fn start(scope: &AnewScope) -> Self {
        let mut objects = AnewObjects {
            claims: [None; MOST],
            pods: [None; MOST],
        };
        for index in 0..scope.replicas {
            objects.claims[index] = Some(AnewClaim {
                number: 0,
                version: 0,
                from: MadeFrom::Old,
                is_bound: true,
                is_terminating: false,
                is_marked: false,
                is_foreign: false,
            });
            objects.pods[index] = Some(AnewPod {
                uid: 0,
                of: 0,
                is_ready: true,
                is_terminating: false,
            });
        }
        let process = AnewProcess {
            seen: objects,
            step: None,
        };
        Self {
            replicas: scope.replicas,
            objects,
            snapshots: [None; MOST],
            asks_snapshot: scope.asks_snapshot,
            is_on: true,
            is_paused: false,
            is_parallel: scope.is_parallel,
            is_budget_used: false,
            is_policy_called: true,
            is_complete: false,
            processes: [Some(process), (scope.processes > 1).then_some(process)],
            away: [false; MOST],
            uids: 1,
            actions: scope.actions,
        }
    }

    /// True iff the rollout has ended, or a user has to act.
    pub(super) fn is_ended(&self) -> bool {
        let mut claims = self.objects.claims.iter().flatten();
        // Who deletes a PVC without us has to delete its Pod, too.
        let is_of_user = |claim: &AnewClaim| claim.is_foreign || (claim.is_terminating && !claim.is_marked);
        let needs_user = claims.any(|claim| is_of_user(claim) || (claim.from == MadeFrom::Old && claim.number > 0));
        let is_only = self.replicas == 1 && !self.asks_snapshot;
        let is_held = self.is_paused || self.is_budget_used || !self.is_on || is_only;
        self.is_complete || needs_user || is_held
    }

    /// Everything that may happen now.
    pub(super) fn events(&self, scope: &AnewScope) -> Vec<AnewEvent> {
        let mut events = Vec::new();
        for (place, process) in self.processes.iter().enumerate() {
            let Some(process) = process else { continue };
            if process.step.is_some() {
                events.extend([AnewEvent::Send(place), AnewEvent::Crash(place)]);
            } else {
                events.push(AnewEvent::Decide(place));
            }
            let (seen, now) = (&process.seen, &self.objects);
            events.extend((seen.claims != now.claims).then_some(AnewEvent::ShowClaims(place)));
            events.extend((seen.pods != now.pods).then_some(AnewEvent::ShowPods(place)));
        }
        for index in 0..self.replicas {
            let (claim, pod) = (self.objects.claims[index], self.objects.pods[index]);
            let lower = &self.objects.pods[..index];
            let is_turn = self.is_parallel || lower.iter().all(|pod| pod.is_some_and(|pod| pod.is_ready));
            if pod.is_none() && is_turn {
                // `createPersistentVolumeClaims` (pkg/controller/statefulset/stateful_pod_control.go) fails with a PVC that
                // is being deleted.
                match claim {
                    None => events.push(AnewEvent::CreateClaim(index)),
                    Some(claim) if !claim.is_terminating => events.push(AnewEvent::CreatePod(index)),
                    Some(_) => {}
                }
            }
            let unbound = claim.is_some_and(|claim| !claim.is_bound && !claim.is_terminating);
            events.extend(unbound.then_some(AnewEvent::Bind(index)));
            let starts = pod.is_some_and(|pod| !pod.is_ready && !pod.is_terminating);
            let has_volume = claim.is_some_and(|claim| claim.is_bound);
            events.extend((starts && has_volume).then_some(AnewEvent::BecomeReady(index)));
            let ends = pod.is_some_and(|pod| pod.is_terminating);
            events.extend(ends.then_some(AnewEvent::EndPod(index)));
            let is_free = pod.is_none() && claim.is_some_and(|claim| claim.is_terminating);
            events.extend(is_free.then_some(AnewEvent::EndClaim(index)));
            let unfinished = self.snapshots[index].is_some_and(|(_, is_ready)| !is_ready);
            events.extend(unfinished.then_some(AnewEvent::FinishSnapshot(index)));
        }
        if self.actions > 0 {
            events.extend(
                scope
                    .users
                    .iter()
                    .filter(|action| self.may(**action))
                    .map(|action| AnewEvent::User(*action)),
            );
        }
        events
    }

    fn may(&self, action: AnewAction) -> bool {
        let claim = |index: usize| self.objects.claims[index];
        let pod = |index: usize| self.objects.pods[index];
        match action {
            AnewAction::FailPod(index) => pod(index).is_some_and(|pod| pod.is_ready),
            AnewAction::DeletePod(index) => pod(index).is_some_and(|pod| !pod.is_terminating),
            AnewAction::DeleteClaim(index) => claim(index).is_some_and(|claim| !claim.is_terminating),
            AnewAction::TakeClaimOver(index) => claim(index).is_some_and(|claim| !claim.is_foreign),
            AnewAction::Pause => !self.is_paused,
            AnewAction::Continue => self.is_paused,
            AnewAction::SwitchOff => self.is_on,
            AnewAction::UseBudget => !self.is_budget_used,
            AnewAction::FreeBudget => self.is_budget_used,
            AnewAction::RemovePolicy => self.is_policy_called,
        }
    }

    /// What other controllers do.
    pub(super) fn go_on(&mut self, event: AnewEvent) {
        let objects = &mut self.objects;
        match event {
            AnewEvent::CreateClaim(index) => {
                self.uids += 1;
                objects.claims[index] = Some(AnewClaim {
                    number: self.uids,
                    version: 0,
                    from: if self.is_policy_called {
                        MadeFrom::Desired
                    } else {
                        MadeFrom::Old
                    },
                    is_bound: false,
                    is_terminating: false,
                    is_marked: false,
                    is_foreign: false,
                });
            }
            AnewEvent::CreatePod(index) => {
                self.uids += 1;
                objects.pods[index] = objects.claims[index].map(|claim| AnewPod {
                    uid: self.uids,
                    of: claim.number,
                    is_ready: false,
                    is_terminating: false,
                });
            }
            AnewEvent::Bind(index) => change(&mut objects.claims[index], |claim| claim.is_bound = true),
            AnewEvent::BecomeReady(index) => objects.pods[index].iter_mut().for_each(|pod| pod.is_ready = true),
            AnewEvent::EndPod(index) => objects.pods[index] = None,
            AnewEvent::EndClaim(index) => objects.claims[index] = None,
            AnewEvent::FinishSnapshot(index) => {
                self.snapshots[index]
                    .iter_mut()
                    .for_each(|(_, is_ready)| *is_ready = true);
            }
            _ => {}
        }
    }

    pub(super) fn process(&mut self, place: usize) -> &mut AnewProcess {
        let nothing = AnewProcess {
            seen: self.objects,
            step: None,
        };
        self.processes[place].get_or_insert(nothing)
    }

    /// Replicas that were away because of us and are there again.
    pub(super) fn come_back(&mut self) {
        for index in 0..self.replicas {
            let claim = self.objects.claims[index].is_some_and(|claim| claim.is_bound && !claim.is_terminating);
            let pod = self.objects.pods[index].is_some_and(|pod| pod.is_ready && !pod.is_terminating);
            self.away[index] &= !(claim && pod);
        }
    }

    /// The API server answers a write of ours.
    pub(super) fn accept(&mut self, step: AnewStep) -> Result<(), Broken> {
        let is = |claim: &Option<AnewClaim>, number, version| {
            claim.is_some_and(|claim| (claim.number, claim.version) == (number, version))
        };
        match step {
            AnewStep::Mark(index, number, version) | AnewStep::Unmark(index, number, version)
                if is(&self.objects.claims[index], number, version) =>
            {
                let is_marked = matches!(step, AnewStep::Mark(..));
                change(&mut self.objects.claims[index], |claim| claim.is_marked = is_marked);
            }
            AnewStep::Delete(index, number, version) if is(&self.objects.claims[index], number, version) => {
                s4_deletes_only_marked(self.objects.facts(index))?;
                l8_no_second_away(&self.away, index)?;
                self.away[index] = true;
                self.terminate(index);
            }
            AnewStep::Evict(index, uid) => {
                let is_there = self.objects.pods[index].is_some_and(|pod| pod.uid == uid && !pod.is_terminating);
                if is_there && !self.is_budget_used {
                    // Whose PVC it is may have changed since the decision: an eviction has no precondition on it.
                    s4_evicts_only_for_marked(AcceptedFacts {
                        is_ours: true,
                        ..self.objects.facts(index)
                    })?;
                    l8_no_second_away(&self.away, index)?;
                    self.away[index] = true;
                    self.end_pod(index);
                }
            }
            AnewStep::Snapshot(index, number) => _ = self.snapshots[index].get_or_insert((number, false)),
            AnewStep::Complete => self.is_complete = true,
            _ => {}
        }
        Ok(())
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
        }
    }
}

fn change(claim: &mut Option<AnewClaim>, how: impl FnOnce(&mut AnewClaim)) {
    if let Some(claim) = claim {
        claim.version += 1;
        how(claim);
    }
}
