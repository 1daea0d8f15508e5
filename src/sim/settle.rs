//! The end of a schedule: no more faults, and all actors take turns until nothing changes.

use super::actors::action::UserAction;
use super::actors::storage::Resizing;
use super::api::WebhookEdit;
use super::controller::{Instance, NextReconcile};
use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ClaimOwner, ORDINALS, ResizeState, SLOTS, place};
use super::step::{INSTANCES, SimStep};
use super::target::target_in_force;
use super::watch::WatchKind;
use super::world::SimWorld;
use crate::rollout::Refusal;
use crate::rollout::invariants::{
    Broken, Rule, l1_follows_hand, l1_reached, l5_stops_no_other, s13_backs_off, s13_reports_once,
};

/// Longer than any backoff.
const LONG: i16 = 301;
/// After this many rounds with changes, the model never comes to rest.
const ROUNDS: usize = 400;

impl SimWorld {
    /// Gives all actors turns, until nothing changes for 15 minutes.
    ///
    /// # Errors
    /// [`Broken`] if a guarantee does not hold on the way, or the model never comes to rest.
    pub(crate) fn settle(&mut self, decisions: &mut Decisions, log: &mut Log) -> Result<(), Broken> {
        // The backoff starts now, so it does not hide a forgotten Pod.
        if let Some(backoff) = &mut self.api.backoff {
            backoff.age = 0;
        }
        let (mut quiet, mut restless, mut tried) = (0, 0, self.unanswered());
        for _ in 0..ROUNDS {
            let (before, reports, requests) = (self.api.last_version, log.reports(), log.requests);
            let events = self.round(decisions, log)?;
            let written = self.api.last_version - before;
            restless = if self.is_restless() { restless + 1 } else { 0 };
            let moved = if self.may_report_in_turns() {
                written > log.reports() - reports
            } else {
                events || written > 0
            };
            if moved {
                quiet = 0;
                self.step(SimStep::Tick(1), decisions, log)?;
                continue;
            }
            // A write that has no answer counts as denied after a few more attempts.
            let attempts = self.unanswered();
            let is_overtaken = log.requests > requests && self.is_overtaken();
            let is_retrying = self.is_retrying() || is_overtaken || attempts != tried;
            tried = attempts;
            quiet = if is_retrying { 0 } else { quiet + 1 };
            let is_kept = !self.api.known || self.api.webhook == WebhookEdit::Sets;
            let is_late = log.doubtful || log.crossed || self.instances[1].alive || is_kept;
            if quiet == 4 && is_late && self.is_forgotten(decisions) {
                // A controller with an older view has written an older `ready`, or it cannot be written: the
                // StatefulSet controller retries.
                quiet = 0;
                self.step(SimStep::Retry, decisions, log)?;
                continue;
            }
            // It may have been restarted in this round.
            quiet = if (1..4).contains(&restless) {
                quiet.min(3)
            } else {
                quiet
            };
            if quiet == 4 && restless > 0 {
                let why = "a controller reconciles again and again, although nothing changes".to_owned();
                return Err(Broken { rule: Rule::S13, why });
            }
            if quiet == 4 {
                return self.no_pod_is_forgotten(decisions);
            }
            self.step(SimStep::Tick(LONG), decisions, log)?;
        }
        let why = format!("still changing after {ROUNDS} rounds");
        Err(Broken { rule: Rule::L1, why })
    }

    /// A controller reconciles again at once.
    fn is_restless(&self) -> bool {
        let is_due = |one: &Instance| one.alive && one.requeue == NextReconcile::Now;
        self.instances.iter().any(is_due)
    }

    /// L1: no backoff of the StatefulSet controller is left when the Pod need not wait.
    fn no_pod_is_forgotten(&self, decisions: &mut Decisions) -> Result<(), Broken> {
        match self.api.backoff.filter(|_| self.is_forgotten(decisions)) {
            Some(backoff) => {
                let why = format!(
                    "the PVCs of Pod {} are ready, but the StatefulSet controller still backs off",
                    backoff.ordinal
                );
                Err(Broken { rule: Rule::L1, why })
            }
            None => Ok(()),
        }
    }

    /// The StatefulSet controller backs off, and the policy would allow the deletion.
    fn is_forgotten(&self, decisions: &mut Decisions) -> bool {
        let backoff = self.api.backoff.filter(|_| self.api.policy);
        backoff.is_some_and(|backoff| !decisions.keeps(&self.api, backoff.ordinal.into()))
    }

    /// A controller remembers the denial of a write that is still needed. Two controllers may then report different
    /// things in turns.
    fn may_report_in_turns(&self) -> bool {
        let Some(set) = self.api.set.filter(|set| !set.spec.paused) else {
            return false;
        };
        let from = if set.spec.on_delete {
            0
        } else {
            usize::from(set.spec.partition)
        };
        let refused = |slot: usize| self.instances.iter().any(|one| one.memory.has_denial(slot));
        let mut known = self.instances.iter().map(|one| &one.memory.known);
        let undone = known.any(|known| known.undone.is_some() || known.write_denied.is_some());
        let mut slots = (0..SLOTS).filter(|slot| place(*slot).1 >= from);
        self.instances[1].alive && (undone || slots.any(refused))
    }

    /// A write has no answer, and does not count as denied yet.
    fn is_retrying(&self) -> bool {
        let fails = |one: &Instance| {
            one.alive
                && (one.requeue == NextReconcile::Now
                    || (1..=u32::from(Refusal::UNANSWERED)).contains(&one.memory.known.failures))
        };
        (self.api.webhook == WebhookEdit::Down || !self.api.reports) && self.instances.iter().any(fails)
    }

    /// A webhook answers with a conflict again and again, and that does not count as denied yet.
    fn is_overtaken(&self) -> bool {
        let claims = &self.api.claims;
        let mut instances = self.instances.iter().filter(|one| one.alive);
        self.api.webhook == WebhookEdit::Overtaken && instances.any(|one| one.memory.is_overtaken(claims))
    }

    /// How many attempts of writes had no answer, up to a limit for each.
    fn unanswered(&self) -> u32 {
        let counts = self
            .instances
            .iter()
            .flat_map(|one| one.memory.known.unanswered.values());
        counts.copied().map(u32::from).sum()
    }

    /// One turn for each actor; true if a controller saw anything new.
    pub(crate) fn round(&mut self, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let mut events = false;
        for who in 0..INSTANCES {
            events |= self.turn(u8::try_from(who).unwrap_or(0), decisions, log)?;
        }
        for step in actors() {
            self.step(step, decisions, log)?;
        }
        Ok(events)
    }

    /// A controller gets all events, and reconciles.
    fn turn(&mut self, who: u8, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let mut events = false;
        for kind in WatchKind::ALL {
            events |= self.step(SimStep::Deliver(who, kind), decisions, log)?;
        }
        self.step(SimStep::Reconcile(who), decisions, log)?;
        let mut sent = 0;
        while self.step(SimStep::Send(who, log.fate()), decisions, log)? {
            sent += 1;
            if sent > 100 {
                return Err(Broken {
                    rule: Rule::S13,
                    why: "a reconcile sent more than 100 requests".to_owned(),
                });
            }
        }
        Ok(events)
    }

    /// Removes obstacles without a change of the target; true if there were any.
    fn remove_obstacles(&mut self, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let mut actions = vec![
            UserAction::Limit(u8::MAX),
            UserAction::BadClass(0),
            UserAction::Offline(false),
            UserAction::Quota(u8::MAX),
            UserAction::Expandable(true),
            UserAction::Registered(true),
            UserAction::Known(true),
            UserAction::Webhook(WebhookEdit::No),
            UserAction::Reports(true),
            UserAction::Newer(false),
            UserAction::Sibling(false),
            UserAction::Owned(false),
        ];
        for slot in (0..SLOTS).filter_map(|slot| u8::try_from(slot).ok()) {
            actions.push(UserAction::Mount(slot, false));
            let Some(claim) = self.api.claims[usize::from(slot)] else {
                continue;
            };
            if claim.owner == ClaimOwner::Other {
                actions.push(UserAction::Own(slot, false));
            }
            // Somebody lowered it in the middle of the rollout.
            let (target, template) = (target_in_force(&self.api), place(slot.into()).0);
            let wanted = target.map_or(0, |target| target.wants[template].size);
            if claim.is_at(target, template) && claim.asks_for_less(target, template) {
                actions.push(UserAction::Size(slot, wanted));
            }
        }
        // A terminating claim stays until a user deletes the Pod that uses it.
        let terminating = |slot: &usize| self.api.claims[*slot].is_some_and(|claim| claim.terminating);
        let ordinals = (0..SLOTS).filter(terminating).map(|slot| place(slot).1);
        actions.extend(
            ordinals
                .filter_map(|ordinal| u8::try_from(ordinal).ok())
                .map(UserAction::DeletePod),
        );
        actions.extend((0..ORDINALS).flat_map(|ordinal| self.manual_fix(ordinal)));
        let mut removed = false;
        for action in actions {
            removed |= self.step(SimStep::User(action), decisions, log)?;
        }
        // Claims of a complete rollout are not watched.
        self.instances.iter_mut().for_each(Instance::check_again);
        Ok(removed)
    }

    /// The user action that a Pod needs where growth of its claims does not help, or waits for the Pod by design.
    fn manual_fix(&self, ordinal: usize) -> Option<UserAction> {
        let (pod, set) = (self.api.pods[ordinal]?, self.api.set?);
        let ordinal_byte = u8::try_from(ordinal).ok()?;
        let target = target_in_force(&self.api);
        let stays = ordinal < usize::from(set.spec.partition) || set.spec.paused || set.spec.on_delete;
        let claim = self.api.claims[ordinal]?;
        // The claim has grown, and the disk is still full.
        if pod.full > 0 && (stays || target.is_none() || claim.revision == target) {
            return Some(UserAction::FreeDisk(ordinal_byte));
        }
        let slots = (0..SLOTS).filter(|slot| place(*slot).1 == ordinal);
        let mut claims = slots.filter_map(|slot| self.api.claims[slot]);
        let waits = claims.any(|claim| claim.resize == ResizeState::Node);
        let replaced = pod.image != set.spec.image;
        (waits && !replaced).then_some(UserAction::DeletePod(ordinal_byte))
    }

    /// Checks the remaining guarantees from any state, without more faults.
    ///
    /// # Errors
    /// [`Broken`] names the guarantee that does not hold.
    pub(crate) fn end(&mut self, decisions: &mut Decisions, log: &mut Log) -> Result<(), Broken> {
        log.line(|| "-- faults have stopped".to_owned());
        self.settle(decisions, log)?;
        self.backs_off(log)?;
        l5_stops_no_other(&self.facts_known().scene())?;
        // Later, each set that is settled is reconciled anyway.
        let is_deleted = self.api.claims.iter().flatten().any(|claim| claim.terminating);
        // No watch shows a ClaimRollout that was deleted before the list.
        let is_shown = self.api.reports && !self.instances[0].memory.replies.is_behind;
        if is_shown && !self.instances[1].alive && !is_deleted && l1_reached(&self.facts().scene()).is_ok() {
            self.report_is_complete(decisions)?;
        }
        for time in 0..=ORDINALS {
            log.line(|| "-- obstacles are removed".to_owned());
            // After a round without obstacles, nothing else can help.
            let removed = self.remove_obstacles(decisions, log)?;
            if !removed && time > 0 {
                break;
            }
            self.settle(decisions, log)?;
            if l1_reached(&self.facts().scene()).is_ok() {
                break;
            }
        }
        let writes = log.writes;
        l1_reached(&self.facts().scene())?;
        l1_follows_hand(&self.facts().scene())?;
        self.report_is_complete(decisions)?;
        // The target stays reached.
        self.settle(decisions, log)?;
        if log.writes[..SLOTS + 2] != writes[..SLOTS + 2] {
            let why = "wrote again after the target was reached".to_owned();
            return Err(Broken { rule: Rule::L1, why });
        }
        self.backs_off(log)
    }

    /// S13: denied writes are retried after a backoff, with one Event.
    fn backs_off(&self, log: &Log) -> Result<(), Broken> {
        // Two controllers, or a controller with an older view, do not know all Events and attempts.
        if self.instances[1].alive || log.doubtful {
            return Ok(());
        }
        s13_backs_off(&log.attempts)?;
        s13_reports_once(&log.events)
    }

    /// L1: the ClaimRollout reports a completed rollout.
    fn report_is_complete(&self, decisions: &Decisions) -> Result<(), Broken> {
        let Some(set) = self.api.set else {
            return Ok(());
        };
        let complete = target_in_force(&self.api).is_some()
            && set.staged_change().is_some_and(|change| change.complete)
            && !set.spec.paused
            && !set.spec.on_delete
            && set.spec.partition == 0
            && !decisions.silent;
        let content = self
            .api
            .report
            .map_or("nothing", |report| decisions.texts.words(report.content));
        if complete && !content.starts_with("Complete") {
            let why = format!("the target is reached, but the ClaimRollout reports {content}");
            return Err(Broken { rule: Rule::L1, why });
        }
        Ok(())
    }
}

/// One turn for each actor except the controllers.
fn actors() -> impl Iterator<Item = SimStep> {
    let byte = |number: usize| u8::try_from(number).unwrap_or(0);
    let kubelets = (0..ORDINALS).map(move |ordinal| SimStep::Kubelet(byte(ordinal)));
    let volumes = (0..SLOTS).flat_map(move |slot| {
        [
            SimStep::Provision(byte(slot)),
            SimStep::Resize(byte(slot), Resizing::Begin),
            SimStep::Resize(byte(slot), Resizing::Finish),
        ]
    });
    [SimStep::Sync, SimStep::Sync, SimStep::Observe, SimStep::Collect]
        .into_iter()
        .chain(kubelets)
        .chain(volumes)
}
