//! The log of a run: counters always, and lines for a trace.

use super::actors::action::UserAction;
use super::api::Api;
use super::decisions::Decisions;
use super::invariant_adapter;
use super::objects::{SLOTS, SetObject};
use super::plan_decision::PlanDecision;
use super::step::{INSTANCES, RequestFate, SimStep};
use super::watch::{Views, WatchKind};
use super::words::{controller, words, write_words};
use super::write::{ApiAnswer, Apply, DenialCause, Write};
use crate::rollout::Reason;
use crate::rollout::invariants::{Attempt, Broken, EmittedEvent, ReportedState, ReportedStates};

/// Stands for the set among the attempts: what others undo, and what is denied.
const OF_SET: [u64; 2] = [u64::MAX - 1, u64::MAX];

/// The log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Seconds since the start.
    pub(crate) now: u64,
    /// Steps with an effect.
    pub(crate) steps: u64,
    /// Requests of ours, including those that failed.
    pub(crate) requests: u32,
    /// Writes that changed an object: claims by slot, then `ready`, the staged change, the report.
    pub(crate) writes: [u16; SLOTS + 3],
    /// Denied applies of a single controller without a restart.
    pub(crate) attempts: Vec<Attempt>,
    /// A controller has read an older view: Events may be emitted again.
    pub(crate) doubtful: bool,
    /// A user changed the attributes class of a claim. If the Pod is deleted while the driver works on it and no
    /// controller reconciles meanwhile, `ready` is not written again.
    pub(crate) crossed: bool,
    /// Events about stuck claims of a single controller without a restart.
    pub(crate) events: Vec<EmittedEvent>,
    /// Faults by the number of the request.
    pub(crate) faults: Vec<(u32, RequestFate)>,
    /// Events of the last decision of each controller, not yet emitted.
    pending: [Vec<(Reason, Option<u8>, u32)>; INSTANCES],
    /// The states in the last decision of each controller: of the claims, by slot and uid, and of the rollout.
    decided: [Vec<(Option<u8>, u64, u64)>; INSTANCES],
    /// The states that were reported in this staging.
    states: ReportedStates,
    /// The kinds that no watch has delivered since a user acted.
    unseen: Vec<WatchKind>,
    /// Two controllers may report different things in turns.
    second: bool,
    /// Claims that were written since the last report, by slot: an Event of its own.
    updated: u16,
    /// How often in a row a write was not answered, for each controller: of each claim, and of the set.
    unanswered: [[u8; SLOTS + 1]; INSTANCES],
    versions: [[u16; SLOTS]; INSTANCES],
    target: [u64; INSTANCES],
    /// The target of the last written ClaimRollout.
    reported: u64,
    /// The lines of the trace, if there is one.
    pub(crate) lines: Option<Vec<String>>,
}

impl Log {
    /// A log that keeps a trace.
    pub(crate) fn tracing() -> Self {
        Self {
            lines: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Forgets everything before the schedule.
    pub(crate) fn begin(&mut self) {
        let lines = self.lines.take().map(|_| Vec::new());
        let faults = std::mem::take(&mut self.faults);
        *self = Self {
            lines,
            faults,
            ..Self::default()
        };
    }

    /// Writes of the ClaimRollout.
    pub(crate) fn reports(&self) -> u16 {
        self.writes[SLOTS + 2]
    }

    /// The fate of the next request.
    pub(crate) fn fate(&self) -> RequestFate {
        let fault = self.faults.iter().find(|(request, _)| *request == self.requests);
        fault.map_or(RequestFate::Answered, |(_, fate)| *fate)
    }

    pub(crate) fn stepped(&mut self, step: SimStep) {
        self.steps += 1;
        let restarted = matches!(
            step,
            SimStep::Send(_, RequestFate::CrashBefore | RequestFate::CrashAfter)
                | SimStep::User(UserAction::DeleteSet(_) | UserAction::DeleteReport)
        );
        if restarted
            || matches!(
                step,
                SimStep::Crash(_) | SimStep::Start | SimStep::TimeTravel(_) | SimStep::Clock(..)
            )
        {
            self.forget();
            // The ClaimRollout, which remembers Events, is deleted with its set.
            self.doubtful |= matches!(step, SimStep::TimeTravel(_) | SimStep::User(_));
        }
        self.crossed |= matches!(step, SimStep::User(UserAction::Class(..)));
        self.second |= matches!(step, SimStep::Start);
        // What people do, they know. A controller learns of it later, kind by kind.
        match step {
            SimStep::User(_) => (self.states, self.unseen) = (ReportedStates::default(), WatchKind::ALL.to_vec()),
            SimStep::Deliver(_, kind) if self.unseen.contains(&kind) => {
                self.unseen.retain(|unseen| *unseen != kind);
                self.states = ReportedStates::default();
            }
            _ => {}
        }
        // `sent` and `decided` write the lines of requests and reconciles.
        if !matches!(step, SimStep::Send(..) | SimStep::Reconcile(_)) {
            self.line(|| format!("  {}", words(step)));
        }
    }

    pub(crate) fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    /// Logs a decision of `plan` about the set that the reconcile started with.
    pub(crate) fn decided(
        &mut self,
        who: u8,
        decision: &PlanDecision,
        views: &Views,
        set: Option<SetObject>,
        decisions: &Decisions,
    ) {
        let place = usize::from(who);
        // Nothing is watched then, so previous denials are not known any more.
        if !decision.rolls_out || decision.settled {
            self.forget();
        }
        // A claim that has made progress may get stuck again.
        self.events
            .retain(|events| decision.stuck & 1 << (events.claim >> 32) != 0);
        self.pending[place].clone_from(&decision.events);
        self.target[place] = set
            .and_then(|set| set.staged_change().map(|change| invariant_adapter::id(&change.target)))
            .unwrap_or(0);
        for (slot, claim) in views.claims.iter().enumerate() {
            self.versions[place][slot] = claim.map_or(0, |claim| claim.version);
        }
        // Claims out of range are judged only if they are listed.
        let ordinals = set.map_or(0, |set| usize::from(set.followed()));
        let replicas = set.map_or(0, |set| usize::from(set.spec.replicas));
        let slots = (0..SLOTS).filter(|slot| super::objects::place(*slot).1 < ordinals);
        let slots = slots.filter_map(|slot| u8::try_from(slot).ok());
        let claims = slots.filter_map(|slot| {
            let claim = views.claims[usize::from(slot)]?;
            let state = decision.states.filter(|_| decision.rolls_out)?[usize::from(slot)];
            let is_in_range = super::objects::place(slot.into()).1 < replicas;
            if state == 0 && !is_in_range {
                return None;
            }
            Some((Some(slot), u64::from(claim.uid), u64::from(state)))
        });
        let rollout = (None, 0, decision.reason);
        // An exploration has many pasts, and no reports.
        let states = claims.chain([rollout]).filter(|_| !decisions.silent);
        self.decided[place] = states.collect();
        if self.lines.is_some() {
            let writes: Vec<String> = decision.writes.iter().map(write_words).collect();
            let writes = if writes.is_empty() {
                "nothing to do".to_owned()
            } else {
                writes.join("; ")
            };
            let progress = decisions.texts.words(decision.content).to_owned();
            self.line(|| format!("{} reconciles: {writes} ({progress})", controller(who)));
        }
    }

    /// Logs a request.
    pub(crate) fn sent(
        &mut self,
        who: u8,
        write: &Write,
        fate: RequestFate,
        answer: ApiAnswer,
        before: &Api,
        after: &Api,
    ) {
        self.requests += 1;
        if before.last_version != after.last_version {
            let place = match write {
                Write::Apply(apply) => usize::from(apply.slot),
                Write::Delete { slot } => usize::from(*slot),
                Write::Ready { .. } | Write::Partition { .. } => SLOTS,
                Write::StagedChange { .. } => SLOTS + 1,
                Write::Report { .. } => SLOTS + 2,
            };
            self.writes[place] = self.writes[place].saturating_add(1);
            if matches!(write, Write::Report { .. }) {
                self.reported(self.target[usize::from(who)]);
            }
        }
        let is_done = answer == ApiAnswer::Done && fate != RequestFate::ReplyLost;
        if matches!(write, Write::Report { .. }) && !is_done {
            // What was reported is forgotten, so the Events since the report in the watch are emitted again.
            self.events.clear();
        }
        // A lost answer is not known to be a denial.
        if let (Write::Apply(apply), RequestFate::Answered | RequestFate::Refused) = (write, fate) {
            let claim = after.claims[usize::from(apply.slot)];
            let changed = answer == ApiAnswer::Done && claim.is_some_and(|claim| !apply.is_in(&claim));
            self.attempted(
                apply,
                if changed {
                    ApiAnswer::Refused(DenialCause::Changed)
                } else {
                    answer
                },
            );
        }
        if let (Write::Apply(apply), RequestFate::Answered, ApiAnswer::Done) = (write, fate, answer) {
            self.updated |= 1 << apply.slot;
        }
        self.answered(usize::from(who), write, fate, answer);
        let is_known = matches!(fate, RequestFate::Answered | RequestFate::Refused);
        if matches!(write, Write::StagedChange { .. } | Write::Ready { .. }) && is_known {
            let is_stored = after.set.is_some_and(|set| write.is_in(&set));
            self.annotated(answer, is_stored, self.target[usize::from(who)]);
        }
        self.line(|| {
            let fate = match fate {
                RequestFate::Answered => String::new(),
                fate => format!(" [{fate:?}]"),
            };
            format!("{} sends: {}{fate} -> {answer:?}", controller(who), write_words(write))
        });
    }

    /// Counts writes of a controller that were not answered.
    fn answered(&mut self, who: usize, write: &Write, fate: RequestFate, answer: ApiAnswer) {
        let object = match write {
            Write::Apply(apply) => usize::from(apply.slot),
            Write::StagedChange { .. } | Write::Ready { .. } => SLOTS,
            _ => return,
        };
        let count = &mut self.unanswered[who][object];
        match (fate, answer) {
            (RequestFate::ReplyLost | RequestFate::NeverSent, _) | (_, ApiAnswer::Unsure) => {
                *count = count.saturating_add(1);
            }
            (_, ApiAnswer::Done | ApiAnswer::Refused(_)) => *count = 0,
            _ => {}
        }
    }

    /// How often in a row a write of a controller was not answered, for the object with the most.
    pub(crate) fn longest_unanswered(&self, who: usize) -> u8 {
        self.unanswered[who].iter().copied().max().unwrap_or(0)
    }

    /// A report of another target replaces the previous one: its Events may be emitted again.
    fn reported(&mut self, target: u64) {
        if self.reported != target {
            self.events.clear();
        }
        self.reported = target;
    }

    /// Counts attempts of the same apply while they are denied.
    fn attempted(&mut self, apply: &Apply, answer: ApiAnswer) {
        let claim = apply.uid.unwrap_or(0).into();
        let revision = invariant_adapter::id(&apply.revision);
        let refused = matches!(answer, ApiAnswer::Refused(_));
        let ends =
            |attempt: &Attempt| attempt.claim == claim && (answer == ApiAnswer::Done || attempt.revision != revision);
        self.attempts.retain(|attempt| !ends(attempt));
        if refused {
            // The version is that of the denied apply, and does not count what others change.
            let by_others = answer == ApiAnswer::Refused(DenialCause::Changed);
            let version = apply.version.filter(|_| !by_others).unwrap_or(0).into();
            self.attempts.push(Attempt {
                at: self.now,
                claim,
                version,
                revision,
            });
        }
    }

    /// Counts attempts of writes to the set while somebody undoes or denies them.
    fn annotated(&mut self, answer: ApiAnswer, is_stored: bool, target: u64) {
        let [undone, denied] = OF_SET;
        let claim = match answer {
            ApiAnswer::Done if is_stored => {
                return self.attempts.retain(|attempt| !OF_SET.contains(&attempt.claim));
            }
            ApiAnswer::Done => undone,
            ApiAnswer::Refused(_) => denied,
            _ => return,
        };
        self.attempts.push(Attempt {
            at: self.now,
            claim,
            version: 0,
            revision: target,
        });
    }

    /// The Events of the last decision are emitted, after the report.
    pub(crate) fn emitted(&mut self, who: usize) -> Result<(), Broken> {
        let pending = std::mem::take(&mut self.pending[who]);
        let updated = std::mem::take(&mut self.updated);
        let explained = |of: Option<u8>| match of {
            Some(slot) => updated & 1 << slot != 0 || pending.iter().any(|(_, of, _)| *of == Some(slot)),
            None => updated != 0 || !pending.is_empty(),
        };
        let states = self.decided[who].iter().map(|(slot, of, state)| ReportedState {
            of: *of,
            state: *state,
            explained: explained(*slot),
        });
        let states: Vec<ReportedState> = states.collect();
        if !self.second && !self.doubtful {
            self.states.s21_repeats_none(self.target[who], &states)?;
        }
        for (reason, slot, text) in pending {
            if let (true, Some(slot)) = (reason.is_warning(), slot) {
                let version = self.versions[who][usize::from(slot)];
                let claim = u64::from(slot) << 32 | u64::from(version);
                // An Event may be emitted again for another target.
                let cause = self.target[who].wrapping_mul(31).wrapping_add(text.into());
                self.events.push(EmittedEvent { claim, cause });
            }
        }
        Ok(())
    }

    /// A new controller has no memory.
    fn forget(&mut self) {
        self.attempts.clear();
        self.events.clear();
    }
}
