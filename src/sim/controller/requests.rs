//! The requests of a controller, what may become of each on its way, and what the controller makes of the answer.

use std::sync::Arc;

use super::{Acted, Instance, Requeue};
use crate::rollout::invariants::Broken;
use crate::sim::api::{Answer, Cause, Write};
use crate::sim::judge;
use crate::sim::log::Log;
use crate::sim::mind::Mind;
use crate::sim::planted::Planted;
use crate::sim::world::{Fate, Step, World};

impl World {
    /// A controller begins to look.
    pub(crate) fn reconcile(&mut self, who: u8, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let instance = &mut self.instances[usize::from(who)];
        let due = instance.alive && instance.reconcile.is_none() && instance.requeue == Requeue::Now;
        if due {
            instance.views.room = self.api.room();
        }
        if let Some(decision) = instance.begin(mind, self.recover) {
            log.decided(who, &decision, &instance.views, instance.views.set, mind);
            if instance.reconcile.is_none() {
                log.said(usize::from(who));
            }
            decision.judged.clone()?;
        }
        Ok(due)
    }

    /// A controller makes its next request.
    pub(crate) fn send(&mut self, who: u8, fate: Fate, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let place = usize::from(who);
        let Some(reconcile) = self.instances[place].reconcile.clone() else {
            return Ok(false);
        };
        let Some(write) = reconcile.queue.get(usize::from(reconcile.next)).copied().flatten() else {
            return Ok(false);
        };
        let before = self.api.clone();
        let answer = match fate {
            Fate::Answered | Fate::ReplyLost | Fate::CrashAfter => self.api.answer(&write),
            Fate::NeverSent | Fate::CrashBefore => Answer::Unsure,
            Fate::Conflict => Answer::Conflict,
            Fate::NotFound => Answer::Gone,
            Fate::Refused => Answer::Refused(Cause::Webhook),
        };
        let judged = judge::request(
            &before,
            &self.api,
            &self.ledger,
            &write,
            answer,
            self.recover,
            &reconcile.set,
        );
        log.sent(who, &write, fate, answer, &before, &self.api);
        log.stepped(Step::Send(who, fate));
        judged?;
        match fate {
            Fate::CrashBefore | Fate::CrashAfter => self.instances[place] = Instance::started(&self.api),
            Fate::ReplyLost => self.hear_answer(place, &write, Answer::Unsure, mind, log)?,
            _ => self.hear_answer(place, &write, answer, mind, log)?,
        }
        judge::observe(self);
        Ok(true)
    }

    /// What the controller makes of the answer.
    fn hear_answer(
        &mut self,
        place: usize,
        write: &Write,
        answer: Answer,
        mind: &mut Mind,
        log: &mut Log,
    ) -> Result<(), Broken> {
        let recover = self.recover;
        let instance = &mut self.instances[place];
        let planted = mind.planted();
        let acted = match (write, answer) {
            (Write::Apply(apply), Answer::Done) => {
                let slot = usize::from(apply.slot);
                let memory = Arc::make_mut(&mut instance.memory);
                match self.api.claims[slot] {
                    Some(claim) if planted != Some(Planted::ReplyNotCompared) && !apply.is_in(&claim) => {
                        memory.refused(apply, Cause::Changed, Some(claim.version));
                    }
                    Some(claim) => {
                        let known = Planted::overlay(planted, &instance.views, slot, claim);
                        memory.applied(slot, known);
                    }
                    None => {}
                }
                Acted::Requeue
            }
            (Write::Apply(apply), Answer::Refused(cause)) => {
                Arc::make_mut(&mut instance.memory).refused(apply, cause, None);
                Acted::Requeue
            }
            (Write::Apply(_) | Write::StagedChange { .. } | Write::Ready { .. }, Answer::Conflict | Answer::Gone) => {
                if planted == Some(Planted::ConflictIsFinal) {
                    instance.give_up();
                    return Ok(());
                }
                Acted::Overtaken
            }
            (Write::Delete { .. } | Write::Partition { .. }, _)
            | (Write::StagedChange { .. } | Write::Ready { .. }, Answer::Done) => Acted::Nothing,
            (Write::Report { .. }, Answer::Done) => {
                Arc::make_mut(&mut instance.memory).report = self.api.report;
                log.said(place);
                Acted::Nothing
            }
            _ => {
                instance.fail();
                return Ok(());
            }
        };
        instance.go_on(acted, place, mind, log, recover)
    }
}

impl Instance {
    /// The next request; or the next round, the report, the end.
    fn go_on(
        &mut self,
        acted: Acted,
        place: usize,
        mind: &mut Mind,
        log: &mut Log,
        recover: bool,
    ) -> Result<(), Broken> {
        let Some(reconcile) = &mut self.reconcile else {
            return Ok(());
        };
        let reconcile = Arc::make_mut(reconcile);
        reconcile.acted = reconcile.acted.max(acted);
        reconcile.next += 1;
        if reconcile
            .queue
            .get(usize::from(reconcile.next))
            .is_some_and(Option::is_some)
        {
            return Ok(());
        }
        let (set, rounds, says) = (reconcile.set, reconcile.rounds, reconcile.says);
        match (reconcile.acted, reconcile.reporting) {
            (_, true) => self.settle(),
            (Acted::Overtaken, _) => self.end(Requeue::After(1)),
            // The look at the set as it is then reports the end.
            (Acted::Nothing, _) if reconcile.ends() => self.settle(),
            (Acted::Nothing, _) => {
                let report = self.memory.report.or(self.views.report);
                let known = report.is_some_and(|report| report.set == set.uid && report.says == says);
                self.report(known || mind.silent);
                if self.reconcile.is_none() {
                    log.said(place);
                }
            }
            (Acted::Requeue, _) => {
                self.reconcile = None;
                if let Some(decision) = self.round(mind, set, rounds + 1, recover) {
                    log.decided(
                        u8::try_from(place).unwrap_or(0),
                        &decision,
                        &self.views,
                        Some(set),
                        mind,
                    );
                    if self.reconcile.is_none() {
                        log.said(place);
                    }
                    decision.judged.clone()?;
                }
            }
        }
        Ok(())
    }
}
