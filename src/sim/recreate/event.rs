//! One event in the world, with the decisions of our controllers.

use super::decision::AnewDecisions;
use super::objects::AnewAction;
use super::process::AnewProcess;
use super::scopes::AnewScope;
use super::transition::AnewEvent;
use super::world::{AnewWorld, OVERTAKEN};
use crate::rollout::invariants::Broken;
use crate::rollout::machine::WriteReply;

/// Lets an event happen; returns the broken guarantee.
///
/// # Errors
/// [`Broken`].
pub(super) fn happen(world: &mut AnewWorld, event: AnewEvent, decisions: &mut AnewDecisions) -> Result<(), Broken> {
    if let Some(place) = event.process() {
        let Some(mut process) = world.processes.0[place].take() else {
            return Ok(());
        };
        act(world, &mut process, event, decisions)?;
        world.processes.0[place] = Some(process);
    } else if let AnewEvent::User(action) = event {
        world.act(action);
    } else {
        world.go_on(event);
    }
    world.come_back();
    Ok(())
}

/// A controller acts, or learns something.
fn act(
    world: &mut AnewWorld,
    process: &mut AnewProcess,
    event: AnewEvent,
    decisions: &mut AnewDecisions,
) -> Result<(), Broken> {
    match (event, process.sending()) {
        (AnewEvent::Decide(_), None) => process.begin(world, decisions)?,
        (AnewEvent::Send(_), Some(step)) => {
            let reply = world.accept(decisions.bug.sent(step, world))?;
            process.replied((step, reply), world, decisions)?;
        }
        (AnewEvent::SendUnanswered(_), Some(step)) => {
            world.accept(decisions.bug.sent(step, world))?;
            process.replied((step, WriteReply::Unsure(String::new())), world, decisions)?;
        }
        (AnewEvent::Deny(_), Some(step)) => {
            let denied = WriteReply::Denied {
                cause: (),
                message: String::new(),
                stored: None,
            };
            process.replied((step, denied), world, decisions)?;
        }
        (AnewEvent::Overtake(_), Some(step)) => process.replied((step, OVERTAKEN), world, decisions)?,
        (AnewEvent::Retry(_), _) => process.retry(),
        (AnewEvent::WaitForWatch(_), _) => process.wait_for_watch(),
        (AnewEvent::Crash(_), _) => *process = AnewProcess::started(world.objects),
        (AnewEvent::ShowClaims(_), _) => process.seen.claims = world.objects.claims,
        (AnewEvent::ShowPods(_), _) => process.seen.pods = world.objects.pods,
        _ => {}
    }
    Ok(())
}

impl AnewWorld {
    /// Everything that may happen now.
    pub(super) fn events(&self, scope: &AnewScope) -> Vec<AnewEvent> {
        let mut events = Vec::new();
        for (place, process) in self.processes.0.iter().enumerate() {
            let Some(process) = process else { continue };
            if process.sending().is_some() {
                events.extend([AnewEvent::Send(place), AnewEvent::Crash(place)]);
                if scope.has_failures {
                    let failures = [AnewEvent::SendUnanswered, AnewEvent::Deny, AnewEvent::Overtake];
                    events.extend(failures.map(|failure| failure(place)));
                }
            } else {
                events.push(AnewEvent::Decide(place));
            }
            events.extend(process.waits().then_some(AnewEvent::Retry(place)));
            let is_late = scope.has_failures && process.is_to_be_late();
            events.extend(is_late.then_some(AnewEvent::WaitForWatch(place)));
            let (seen, now) = (&process.seen, &self.objects);
            events.extend((seen.claims != now.claims).then_some(AnewEvent::ShowClaims(place)));
            events.extend((seen.pods != now.pods).then_some(AnewEvent::ShowPods(place)));
        }
        for index in 0..self.replicas {
            self.events_of(index, &mut events);
        }
        for (place, snapshot) in self.snapshots.iter().enumerate() {
            let unfinished = snapshot.is_some_and(|snapshot| !snapshot.is_ready);
            events.extend(unfinished.then_some(AnewEvent::FinishSnapshot(place)));
        }
        if self.actions > 0 {
            let may = scope.users.iter().filter(|action| self.may(**action));
            events.extend(may.map(|action| AnewEvent::User(*action)));
        }
        events
    }

    /// What may happen to a replica.
    fn events_of(&self, index: usize, events: &mut Vec<AnewEvent>) {
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
            AnewAction::Withdraw => self.staging.is_some() && !self.is_complete,
            AnewAction::StageAgain => self.staging.is_none() && self.first_written(2).is_none(),
            AnewAction::OtherClass => self.asks_snapshot == Some(0),
            AnewAction::DeleteReport => self.has_report,
            AnewAction::Wait => true,
        }
    }
}
