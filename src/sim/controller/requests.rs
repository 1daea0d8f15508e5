//! The requests of a controller, with the faults on their way. The machine of the product handles the answers.

use std::sync::Arc;

use super::instance::{Instance, NextReconcile, REQUESTS};
use super::memory::{ClaimKey, InstanceMemory, OfModel, SlotClaim, WriteKey};
use crate::rollout::Refusal;
use crate::rollout::invariants::{Broken, s13_awaits_answers};
use crate::rollout::machine::{
    AttemptedWrite, Machine, PlanFacts, ReconcileEnd, ReportFailure, ReportWrite, RolloutTask, RoundOutcome, WriteReply,
};
use crate::sim::clock::CLOCK;
use crate::sim::decisions::Decisions;
use crate::sim::log::Log;
use crate::sim::plan_decision::PlanDecision;
use crate::sim::planted::Planted;
use crate::sim::settings::ModelSettings;
use crate::sim::step::{RequestFate, SimStep};
use crate::sim::world::SimWorld;
use crate::sim::write::{ApiAnswer, DenialCause, Write};
use crate::sim::{invariant_adapter, request_adapter};

impl SimWorld {
    /// A controller starts a reconcile.
    pub(crate) fn reconcile(&mut self, who: u8, decisions: &mut Decisions, log: &mut Log) -> Result<bool, Broken> {
        let instance = &mut self.instances[usize::from(who)];
        let due = instance.alive && instance.reconcile.is_none() && instance.requeue == NextReconcile::Now;
        if instance.begin(decisions.planted()) {
            instance.proceed(who, decisions, log, (self.api.settings, self.api.room()))?;
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
        let Some(write) = reconcile.sending else {
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
        let is_known = self.instances[place].memory.replies.judge(&write);
        log.sent(who, &write, fate, answer, &before, &self.api);
        log.stepped(SimStep::Send(who, fate));
        judged?;
        is_known?;
        let is_replied = fate == RequestFate::Answered && answer == ApiAnswer::Done;
        if is_replied && !decisions.silent && !matches!(write, Write::Report { .. }) {
            Arc::make_mut(&mut self.instances[place].memory)
                .replies
                .note(&write, &self.api);
        }
        match fate {
            RequestFate::CrashBefore | RequestFate::CrashAfter => self.instances[place] = Instance::started(&self.api),
            RequestFate::ReplyLost => self.handle_answer(who, &write, ApiAnswer::Unsure, decisions, log)?,
            _ => self.handle_answer(who, &write, answer, decisions, log)?,
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
        who: u8,
        write: &Write,
        answer: ApiAnswer,
        decisions: &mut Decisions,
        log: &mut Log,
    ) -> Result<(), Broken> {
        let (place, planted) = (usize::from(who), decisions.planted());
        let instance = &mut self.instances[place];
        let gave_up = match (planted, answer) {
            (Some(Planted::ConflictIsFinal), ApiAnswer::Conflict | ApiAnswer::NotFound) => Some(ReconcileEnd::Rests {
                settles: true,
                requeue: None,
            }),
            (Some(Planted::FailureEnds), ApiAnswer::Unsure) => Some(ReconcileEnd::Failed(())),
            _ => None,
        };
        match (write, answer, gave_up) {
            (Write::Report { .. }, ApiAnswer::Done, _) => {
                let memory = Arc::make_mut(&mut instance.memory);
                if let Some(report) = self.api.report {
                    memory.known.reported(report, CLOCK);
                    memory.known.reported_at = None;
                }
                if let Some(planted) = planted {
                    planted.remembers(memory);
                }
                log.emitted(place)?;
                instance.reported(Ok(ReportWrite::Something));
            }
            (Write::Report { .. }, _, _) => {
                Arc::make_mut(&mut instance.memory).known.report_failed();
                if planted == Some(Planted::NoReportNoWrite) {
                    return instance.end(ReconcileEnd::Failed(()), planted);
                }
                instance.reported(Err(ReportFailure {
                    error: (),
                    is_of_history: false,
                }));
            }
            (_, _, Some(end)) => return instance.end(end, planted),
            (Write::Delete { .. } | Write::Partition { .. }, ..) => instance.answered(Ok(RoundOutcome::Nothing)),
            (Write::Apply(_) | Write::StagedChange { .. } | Write::Ready { .. }, ..) => {
                let reply = self.reply(place, write, answer, planted);
                self.remember_answer(place, write, reply, (planted, log))?;
            }
        }
        let cluster = (self.api.settings, self.api.room());
        self.instances[place].proceed(who, decisions, log, cluster)
    }

    /// The reply to a write of a claim or of the set. Others may have changed what was written.
    fn reply(&self, place: usize, write: &Write, answer: ApiAnswer, planted: Option<Planted>) -> WriteReply<OfModel> {
        let denied = |cause, stored| WriteReply::Denied {
            cause,
            message: String::new(),
            stored,
        };
        let instance = &self.instances[place];
        match (write, answer) {
            (Write::Apply(apply), ApiAnswer::Done) => {
                let slot = usize::from(apply.slot);
                let compares = planted != Some(Planted::ReplyNotCompared);
                match self.api.claims[slot] {
                    Some(claim) if compares && !apply.is_in(&claim) => {
                        denied(DenialCause::Changed, Some(claim.version))
                    }
                    Some(claim) => WriteReply::Done(Some(SlotClaim {
                        slot: apply.slot,
                        claim: Planted::overlay(planted, &instance.views, slot, claim),
                    })),
                    None => WriteReply::Done(None),
                }
            }
            (_, ApiAnswer::Done) => {
                let compares = planted != Some(Planted::UndoneNotCompared);
                if compares && self.api.set.is_some_and(|set| !write.is_in(&set)) {
                    WriteReply::Undone(String::new())
                } else {
                    WriteReply::Done(None)
                }
            }
            (_, ApiAnswer::Conflict | ApiAnswer::NotFound) => {
                WriteReply::Overtaken(DenialCause::Overtaken, String::new())
            }
            (_, ApiAnswer::Refused(cause)) => denied(cause, None),
            (_, ApiAnswer::Unsure) => {
                let failures = instance.memory.known.failures;
                if planted == Some(Planted::UnansweredBySet) && failures >= u32::from(Refusal::UNANSWERED) {
                    denied(DenialCause::NotAnswered, None)
                } else {
                    WriteReply::Unsure(String::new())
                }
            }
        }
    }

    /// Hands the reply to the memory and to the machine. A write without an answer may count as denied.
    fn remember_answer(
        &mut self,
        place: usize,
        write: &Write,
        reply: WriteReply<OfModel>,
        (planted, log): (Option<Planted>, &Log),
    ) -> Result<(), Broken> {
        let reply = match planted {
            Some(planted) => planted.replies(reply),
            None => reply,
        };
        let instance = &mut self.instances[place];
        let is_unsure = matches!(
            reply,
            WriteReply::Unsure(_)
                | WriteReply::Denied {
                    cause: DenialCause::NotAnswered,
                    ..
                }
        );
        let key = key_of(write);
        let memory = Arc::make_mut(&mut instance.memory);
        let was_denied = key.is_some_and(|key| memory.known.denials.contains_key(&key));
        let answered = memory.known.answered(&attempt(write, key.as_ref()), reply, CLOCK);
        // More make no difference.
        memory
            .known
            .unanswered
            .values_mut()
            .for_each(|count| *count = (*count).min(10));
        if let Some(planted) = planted {
            planted.remembers(memory);
        }
        if is_unsure && answered == Ok(RoundOutcome::DecideAgain) && !was_denied {
            s13_awaits_answers(log.longest_unanswered(place))?;
        }
        instance.answered(answered.map_err(drop));
        Ok(())
    }
}

/// The uid of the claim that is written, and its slot.
fn key_of(write: &Write) -> Option<ClaimKey> {
    match write {
        Write::Apply(apply) => Some(ClaimKey {
            slot: apply.slot,
            uid: apply.uid.unwrap_or(0),
        }),
        _ => None,
    }
}

/// The write as the memory of the product knows it.
fn attempt<'w>(write: &'w Write, key: Option<&'w ClaimKey>) -> AttemptedWrite<'w, OfModel> {
    let of_set = |kind, version: &Option<u16>| {
        AttemptedWrite::Set(WriteKey {
            kind,
            version: version.unwrap_or(0),
        })
    };
    match (write, key) {
        (Write::Apply(apply), Some(key)) => AttemptedWrite::Apply {
            uid: key,
            version: apply.version.as_ref().unwrap_or(&0),
            label: &apply.revision,
            write: WriteKey {
                kind: 0,
                version: apply.version.unwrap_or(0),
            },
        },
        (Write::StagedChange { version, .. }, _) => of_set(1, version),
        (Write::Ready { version, .. }, _) => of_set(2, version),
        _ => of_set(3, &None),
    }
}

impl Instance {
    /// Hands the outcome of a write to the machine.
    fn answered(&mut self, outcome: Result<RoundOutcome, ()>) {
        if let Some(reconcile) = &mut self.reconcile {
            Arc::make_mut(reconcile).machine.answered(outcome);
        }
    }

    /// Hands the outcome of a report to the machine.
    fn reported(&mut self, written: Result<ReportWrite, ReportFailure<()>>) {
        if let Some(reconcile) = &mut self.reconcile {
            let memory = &mut Arc::make_mut(&mut self.memory).known;
            Arc::make_mut(reconcile).machine.reported(memory, written);
        }
    }

    /// Continues up to the next request, or the end, with the settings and the quota of the cluster.
    fn proceed(
        &mut self,
        who: u8,
        decisions: &mut Decisions,
        log: &mut Log,
        (settings, room): (ModelSettings, Option<u8>),
    ) -> Result<(), Broken> {
        while let Some(reconcile) = &mut self.reconcile {
            let reconcile = Arc::make_mut(reconcile);
            reconcile.sending = None;
            match reconcile.machine.next(&self.memory.known, CLOCK, false) {
                RolloutTask::Decide => self.decide(who, decisions, log, settings)?,
                RolloutTask::Write(place) => {
                    reconcile.sending = reconcile.queue.get_mut(place).and_then(Option::take);
                    return Ok(());
                }
                RolloutTask::Report => {
                    let (set, content) = (reconcile.set, reconcile.content);
                    let report = InstanceMemory::latest(&mut self.memory, self.views.report);
                    let is_known = report.is_some_and(|report| report.set == set.uid && report.content == content);
                    if !is_known && !decisions.silent {
                        let target = set.staged_change().map(|change| change.target);
                        let set = set.uid;
                        reconcile.sending = Some(Write::Report { set, content, target });
                        return Ok(());
                    }
                    self.reported(Ok(ReportWrite::Nothing));
                    log.emitted(usize::from(who))?;
                }
                RolloutTask::ReadQuotas => {
                    if let Some(change) = reconcile.set.staged_change() {
                        Arc::make_mut(&mut self.memory).read_quota(&change.target, room);
                    }
                    self.decide(who, decisions, log, settings)?;
                }
                // Nothing is re-created, and there are no Events of drivers.
                RolloutTask::Ask | RolloutTask::ReadEvents => {
                    let is_new = decisions.planted() == Some(Planted::EventsWithoutEnd);
                    reconcile.machine.read_events(is_new);
                }
                RolloutTask::End(end) => self.end(end, decisions.planted())?,
            }
        }
        Ok(())
    }

    /// Decides, with the set that the reconcile started with.
    fn decide(
        &mut self,
        who: u8,
        decisions: &mut Decisions,
        log: &mut Log,
        settings: ModelSettings,
    ) -> Result<(), Broken> {
        let Some(set) = self.reconcile.as_ref().map(|reconcile| reconcile.set) else {
            return Ok(());
        };
        let mut claims = *self.views.claims;
        let before = decisions.planted().map(|planted| (planted, Arc::clone(&self.memory)));
        InstanceMemory::overlay(&mut self.memory, &mut claims);
        if let Some((planted, before)) = before {
            planted.overlays(&before, &mut self.memory, &mut claims);
        }
        let report = InstanceMemory::latest(&mut self.memory, self.views.report);
        let (decision, writes) = decisions.decide(&set, &claims, &self.views, &self.memory, report, settings);
        // Claims that are only counted are not watched afterwards.
        self.open = decision.rolls_out || !decision.settled;
        if !decision.rolls_out {
            InstanceMemory::forget_claims(&mut self.memory);
        }
        let is_first = self.hand_over(&decision, &writes, decisions.planted());
        if is_first && decision.rolls_out {
            let settled = self.memory.known.settled.map(|settled| settled.basis);
            invariant_adapter::reads(settled, self.views.set, report)?;
        }
        log.decided(who, &decision, &self.views, Some(set), decisions);
        decision.judged.clone()
    }

    /// Hands the decision to the machine. Returns whether it is the first one.
    fn hand_over(&mut self, decision: &PlanDecision, writes: &[Write], planted: Option<Planted>) -> bool {
        let Some(reconcile) = &mut self.reconcile else {
            return false;
        };
        let reconcile = Arc::make_mut(reconcile);
        let is_first = reconcile.machine == Machine::default();
        reconcile.queue = [None; REQUESTS];
        for (place, write) in reconcile.queue.iter_mut().zip(writes) {
            *place = Some(*write);
        }
        reconcile.content = decision.content;
        let ends = |write: &Write| matches!(write, Write::StagedChange { change: Some(change), .. } if change.complete);
        let mut facts = PlanFacts {
            actions: writes.len().min(REQUESTS),
            begins: decision.begins,
            ends: writes.iter().any(ends),
            settled: decision.settled,
            asks_quotas: decision.asks_quotas,
            requeue_after: decision.requeue.and_then(|seconds| u64::try_from(seconds).ok()),
            ..PlanFacts::default()
        };
        if let Some(planted) = planted {
            planted.knows(&mut facts);
        }
        reconcile.machine.decided(facts);
        is_first
    }
}
