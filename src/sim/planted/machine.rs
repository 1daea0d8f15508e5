//! Bugs of the machine around the decision: of what it remembers, and of how a reconcile ends.

use std::sync::Arc;

use super::Planted;
use crate::api::Seconds;
use crate::rollout::machine::{PlanFacts, ReconcileEnd, SetMemory, WriteReply};
use crate::sim::clock::CLOCK;
use crate::sim::controller::memory::{InstanceMemory, OfModel};
use crate::sim::objects::{ClaimObject, SLOTS, SetObject};
use crate::sim::write::DenialCause;

impl Planted {
    /// Changes what the machine gets to know of a decision.
    pub(crate) fn knows(self, facts: &mut PlanFacts) {
        match self {
            Self::SettlesInMotion => facts.settled |= facts.actions == 0,
            Self::ForgetsRequeue => facts.requeue_after = None,
            Self::RequeuesTooLate => facts.requeue_after = facts.requeue_after.map(|seconds| seconds + 8 * 60 * 60),
            _ => {}
        }
    }

    /// Changes the reply to a write.
    pub(crate) fn replies(self, reply: WriteReply<OfModel>) -> WriteReply<OfModel> {
        match (self, reply) {
            (Self::UnansweredIsDenied, WriteReply::Unsure(message)) => WriteReply::Denied {
                cause: DenialCause::NotAnswered,
                message,
                stored: None,
            },
            (_, reply) => reply,
        }
    }

    /// Changes what is remembered of an answer.
    pub(crate) fn remembers(self, memory: &mut InstanceMemory) {
        let known = &mut memory.known;
        match self {
            Self::ForgetsDenial => known.denials.clear(),
            Self::PauseStays => known.denials.values_mut().for_each(|denial| denial.attempts = 1),
            Self::ForgetsUnanswered => known.unanswered.clear(),
            Self::ForgetsUndone => known.undone = None,
            Self::ForgetsDeniedPatch => known.write_denied = None,
            Self::ForgetsReply => known.written.clear(),
            Self::OvertakenForEver => known.overtaken.clear(),
            Self::ForgetsReport => known.rollout = None,
            _ => {}
        }
    }

    /// Changes what a decision reads, after the replies that were remembered before.
    pub(crate) fn overlays(
        self,
        before: &InstanceMemory,
        memory: &mut Arc<InstanceMemory>,
        claims: &mut [Option<ClaimObject>; SLOTS],
    ) {
        if self != Self::ReplyStays {
            return;
        }
        for (key, written) in &before.known.written {
            let seen = &mut claims[usize::from(key.slot)];
            if seen.is_some_and(|seen| seen.uid == key.uid) {
                *seen = Some(written.claim);
                Arc::make_mut(memory).known.written.insert(*key, *written);
            }
        }
    }

    /// For how many seconds a reconcile is not needed, wrongly.
    pub(crate) fn rests(self, memory: &InstanceMemory) -> Option<Seconds> {
        let is_settled = memory.known.settled.is_some();
        (self == Self::RestsAlthoughChanged && is_settled).then_some(1)
    }

    /// Changes the end of a reconcile whose decision was to do nothing more, or not.
    pub(crate) fn ends(self, end: ReconcileEnd<()>, settles: bool) -> ReconcileEnd<()> {
        let settled = ReconcileEnd::Rests {
            settles: true,
            requeue: None,
        };
        match (self, end) {
            (Self::FailureIsFinal, ReconcileEnd::Failed(())) | (Self::OvertakenIsFinal, ReconcileEnd::Overtaken) => {
                ReconcileEnd::Stopped
            }
            (Self::SettlesUnreported, ReconcileEnd::Failed(())) if settles => settled,
            (Self::ReportedBeforeWritten, ReconcileEnd::Complete) => settled,
            _ => end,
        }
    }

    /// Changes the set that is settled.
    pub(crate) fn settles(self, set: SetObject) -> SetObject {
        let mut set = set;
        if self == Self::ReportedBeforeWritten {
            set.spec.staged.iter_mut().for_each(|change| change.complete = true);
        }
        set
    }

    /// Changes the memory when time passes.
    pub(crate) fn passes(self, known: &mut SetMemory<OfModel>) {
        if self == Self::QuotaNeverReadAgain {
            known.quotas.iter_mut().for_each(|read| read.at = CLOCK);
        }
    }
}
