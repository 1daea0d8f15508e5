//! The requests of a controller, with the faults on their way, and how the controller handles the answers.

use std::sync::Arc;

use super::instance::{Instance, ModelRound, NextReconcile};
use super::memory::UndoneWrite;
use crate::rollout::invariants::{Broken, s13_awaits_answers};
use crate::sim::decisions::Decisions;
use crate::sim::log::Log;
use crate::sim::objects::SLOTS;
use crate::sim::planted::Planted;
use crate::sim::settings::ModelSettings;
use crate::sim::step::{RequestFate, SimStep};
use crate::sim::world::SimWorld;
use crate::sim::write::{ApiAnswer, Apply, DenialCause, Write};
use crate::sim::{invariant_adapter, request_adapter};

impl SimWorld {
    /// A controller starts a reconcile.
    pub(crate) fn reconcile(&mut self, who: u8, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let instance = &mut self.instances[usize::from(who)];
        let due = instance.alive && instance.reconcile.is_none() && instance.requeue == NextReconcile::Now;
        let settled = instance.memory.settled;
        if due {
            instance.views.room = self.api.room();
        }
        if let Some(decision) = instance.begin(decisions, self.api.settings) {
            if decision.rolls_out {
                let report = instance.memory.report.or(instance.views.report);
                invariant_adapter::reads(settled, instance.views.set, report)?;
            }
            log.decided(who, &decision, &instance.views, instance.views.set, decisions);
            if instance.reconcile.is_none() {
                log.emitted(usize::from(who))?;
            }
            decision.judged.clone()?;
        }
        Ok(due)
    }

    /// A controller sends its next request.
    pub(crate) fn send(
        &mut self,
        who: u8,
        fate: RequestFate,
        decisions: &mut Decisions,
        log: &mut Log,
    ) -> Result<bool, Broken> {
        let place = usize::from(who);
        let Some(reconcile) = self.instances[place].reconcile.clone() else {
            return Ok(false);
        };
        let Some(write) = reconcile.queue.get(usize::from(reconcile.next)).copied().flatten() else {
            return Ok(false);
        };
        let before = self.api.clone();
        let answer = match fate {
            RequestFate::Answered | RequestFate::ReplyLost | RequestFate::CrashAfter => self.answer(&write, decisions),
            RequestFate::NeverSent | RequestFate::CrashBefore => ApiAnswer::Unsure,
            RequestFate::Conflict => ApiAnswer::Conflict,
            RequestFate::NotFound => ApiAnswer::NotFound,
            RequestFate::Refused => ApiAnswer::Refused(DenialCause::Webhook),
        };
        let judged = request_adapter::request(&before, &self.api, &self.ledger, &write, answer, &reconcile.set);
        log.sent(who, &write, fate, answer, &before, &self.api);
        log.stepped(SimStep::Send(who, fate));
        judged?;
        match fate {
            RequestFate::CrashBefore | RequestFate::CrashAfter => self.instances[place] = Instance::started(&self.api),
            RequestFate::ReplyLost => self.handle_answer(place, &write, ApiAnswer::Unsure, decisions, log)?,
            _ => self.handle_answer(place, &write, answer, decisions, log)?,
        }
        self.update_ledger();
        Ok(true)
    }

    /// The API server answers, after the policy: it puts annotations back that a user may not write.
    fn answer(&mut self, write: &Write, decisions: &mut Decisions) -> ApiAnswer {
        let of_set = matches!(write, Write::StagedChange { .. } | Write::Ready { .. });
        if self.api.known || !self.api.policy || !of_set {
            return self.api.answer(write);
        }
        let before = self.api.clone();
        let answer = self.api.answer(write);
        let (ApiAnswer::Done, Some(old), Some(sent)) = (answer, before.set, self.api.set) else {
            return answer;
        };
        self.api = before;
        match decisions.update(&old, sent.spec, &self.api) {
            Ok(mut spec) => {
                self.api.number_staging(&mut spec);
                self.api.edit_set(|set| set.spec = spec);
                answer
            }
            Err(cause) => ApiAnswer::Refused(cause),
        }
    }

    /// Handles the answer to a write.
    fn handle_answer(
        &mut self,
        place: usize,
        write: &Write,
        answer: ApiAnswer,
        decisions: &mut Decisions,
        log: &mut Log,
    ) -> Result<(), Broken> {
        let settings = self.api.settings;
        let instance = &mut self.instances[place];
        let planted = decisions.planted();
        let acted = match (write, answer) {
            (Write::Apply(apply), ApiAnswer::Done) => self.applied(place, apply, planted),
            (Write::Apply(apply), ApiAnswer::Refused(cause)) => {
                let memory = Arc::make_mut(&mut instance.memory);
                memory.refused(apply, cause, None);
                memory.unanswered[usize::from(apply.slot)] = 0;
                ModelRound::Requeue
            }
            (
                Write::Apply(_) | Write::StagedChange { .. } | Write::Ready { .. },
                ApiAnswer::Conflict | ApiAnswer::NotFound,
            ) => {
                if planted == Some(Planted::ConflictIsFinal) {
                    instance.give_up();
                    return Ok(());
                }
                ModelRound::Overtaken
            }
            (Write::Apply(_) | Write::StagedChange { .. } | Write::Ready { .. }, ApiAnswer::Unsure)
                if planted != Some(Planted::FailureEnds) =>
            {
                self.not_answered(place, write, planted, log)?
            }
            (Write::Delete { .. } | Write::Partition { .. }, _) => ModelRound::Nothing,
            (Write::StagedChange { .. } | Write::Ready { .. }, ApiAnswer::Done) => {
                let compares = planted != Some(Planted::UndoneNotCompared);
                let undone = compares && self.api.set.is_some_and(|set| !write.is_in(&set));
                instance.written(undone)
            }
            (Write::Report { .. }, ApiAnswer::Done) => {
                Arc::make_mut(&mut instance.memory).report = self.api.report;
                log.emitted(place)?;
                ModelRound::Nothing
            }
            // No write depends on the first report.
            (Write::Report { .. }, _) if planted != Some(Planted::NoReportNoWrite) && !instance.is_reporting() => {
                ModelRound::Nothing
            }
            _ => {
                instance.fail();
                return Ok(());
            }
        };
        self.instances[place].proceed(acted, place, decisions, log, settings)
    }

    /// An apply succeeded, but others may have changed the claim.
    fn applied(&mut self, place: usize, apply: &Apply, planted: Option<Planted>) -> ModelRound {
        let slot = usize::from(apply.slot);
        let instance = &mut self.instances[place];
        let memory = Arc::make_mut(&mut instance.memory);
        match self.api.claims[slot] {
            Some(claim) if planted != Some(Planted::ReplyNotCompared) && !apply.is_in(&claim) => {
                memory.refused(apply, DenialCause::Changed, Some(claim.version));
            }
            Some(claim) => {
                let known = Planted::overlay(planted, &instance.views, slot, claim);
                memory.applied(slot, known);
            }
            None => {}
        }
        ModelRound::Requeue
    }

    /// A write had no answer.
    fn not_answered(
        &mut self,
        place: usize,
        write: &Write,
        planted: Option<Planted>,
        log: &Log,
    ) -> Result<ModelRound, Broken> {
        let instance = &mut self.instances[place];
        let denial = |apply: &Apply| instance.memory.denials[usize::from(apply.slot)];
        let was_denied = matches!(write, Write::Apply(apply) if denial(apply).is_some());
        let round = instance.unanswered(write, planted);
        if round == ModelRound::Requeue && !was_denied {
            s13_awaits_answers(log.longest_unanswered(place))?;
        }
        Ok(round)
    }
}

impl Instance {
    fn is_reporting(&self) -> bool {
        self.reconcile.as_ref().is_some_and(|reconcile| reconcile.reporting)
    }

    /// A write without an answer. The others are sent, and then the reconcile fails. After a minute the claim counts as
    /// denied.
    fn unanswered(&mut self, write: &Write, planted: Option<Planted>) -> ModelRound {
        let memory = Arc::make_mut(&mut self.memory);
        let object = match write {
            Write::Apply(apply) => usize::from(apply.slot),
            _ => SLOTS,
        };
        if let (true, Write::Apply(apply)) = (memory.is_unanswered(object, planted), write) {
            memory.refused(apply, DenialCause::NotAnswered, None);
            return ModelRound::Requeue;
        }
        if let Some(reconcile) = &mut self.reconcile {
            Arc::make_mut(reconcile).failed = true;
        }
        ModelRound::Nothing
    }

    /// A write to the set was stored, or somebody undid it.
    fn written(&mut self, undone: bool) -> ModelRound {
        if self.memory.unanswered[SLOTS] > 0 {
            Arc::make_mut(&mut self.memory).unanswered[SLOTS] = 0;
        }
        if !undone && self.memory.undone.is_none() {
            return ModelRound::Nothing;
        }
        let memory = Arc::make_mut(&mut self.memory);
        memory.undone = undone.then(|| UndoneWrite::again(memory.undone));
        if undone {
            ModelRound::Requeue
        } else {
            ModelRound::Nothing
        }
    }

    /// Reports, unless the report is known already.
    fn report_content(&mut self, place: usize, decisions: &Decisions, log: &mut Log) -> Result<(), Broken> {
        let Some(reconcile) = &self.reconcile else {
            return Ok(());
        };
        let (set, content) = (reconcile.set.uid, reconcile.content);
        let report = self.memory.report.or(self.views.report);
        let known = report.is_some_and(|report| report.set == set && report.content == content);
        self.report(known || decisions.silent);
        if self.reconcile.is_none() {
            log.emitted(place)?;
        }
        Ok(())
    }

    /// Continues with the next request, the next round, the report, or the end.
    fn proceed(
        &mut self,
        acted: ModelRound,
        place: usize,
        decisions: &mut Decisions,
        log: &mut Log,
        settings: ModelSettings,
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
        let (set, rounds) = (reconcile.set, reconcile.rounds);
        let failed = reconcile.failed;
        match (reconcile.acted, reconcile.reporting) {
            (_, true) => self.settle(),
            (_, false) if failed => self.report_content(place, decisions, log)?,
            (ModelRound::Overtaken, _) => self.end(NextReconcile::After(1)),
            // The next reconcile reports the completion.
            (ModelRound::Nothing, _) if reconcile.ends() => self.settle(),
            (ModelRound::Nothing, _) => self.report_content(place, decisions, log)?,
            (ModelRound::Requeue, _) => {
                self.reconcile = None;
                if let Some(decision) = self.round(decisions, set, rounds + 1, settings) {
                    log.decided(
                        u8::try_from(place).unwrap_or(0),
                        &decision,
                        &self.views,
                        Some(set),
                        decisions,
                    );
                    if self.reconcile.is_none() {
                        log.emitted(place)?;
                    }
                    decision.judged.clone()?;
                }
            }
        }
        Ok(())
    }
}
