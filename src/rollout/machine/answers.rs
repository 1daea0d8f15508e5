//! What an answer to a write means: what is remembered of it, and whether to decide again.

use super::kinds::Kinds;
use super::last_applies;
use super::memory::{SetMemory, WrittenObject};
use super::retried_write::RetriedWrite;
use crate::api::Seconds;
use crate::rollout::Refusal;

/// A write whose answer is handed over.
#[derive(Clone, Debug)]
pub enum AttemptedWrite<'w, K: Kinds> {
    /// The apply of a PVC.
    Apply {
        /// The uid of the PVC.
        uid: &'w K::Uid,
        /// The version of the PVC that the apply was decided for.
        version: &'w K::Version,
        /// The label that was applied.
        label: &'w K::Label,
        /// The write, with the version.
        write: K::Write,
    },
    /// An annotation of the set.
    Set(K::Write),
    /// The eviction of a Pod.
    Evict(K::Write),
    /// A step of a re-creation.
    Step {
        /// The step, and what it was decided for.
        write: K::Write,
        /// The uid of the PVC.
        of: &'w K::Uid,
        /// How the message of a failure begins.
        failed: String,
    },
}

/// The answer to a write.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteReply<K: Kinds> {
    /// It was done. The reply, if it is a PVC.
    Done(Option<K::Claim>),
    /// The object had changed, or did not exist: the cause and the message if that is a denial.
    Overtaken(K::Cause, String),
    /// It was done, and the policy undid this part.
    Undone(String),
    /// It was denied.
    Denied {
        /// The cause.
        cause: K::Cause,
        /// The message.
        message: String,
        /// The resourceVersion, if the API server stored something else.
        stored: Option<K::Version>,
    },
    /// It is unknown whether it was done, and why.
    Unsure(String),
}

/// The outcome of the writes of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoundOutcome {
    /// Nothing was left to write.
    #[default]
    Nothing,
    /// A write changed what the next decision depends on.
    DecideAgain,
    /// An object had changed since it was read. The watches will show the change.
    Overtaken,
}

impl<K: Kinds> AttemptedWrite<'_, K> {
    /// What is written.
    fn object(&self) -> WrittenObject<K::Uid> {
        match self {
            Self::Apply { uid, .. } => WrittenObject::Claim((*uid).clone()),
            Self::Set(_) => WrittenObject::Set,
            Self::Evict(_) => WrittenObject::Evicted,
            Self::Step { .. } => WrittenObject::ReCreated,
        }
    }
}

impl<K: Kinds> SetMemory<K> {
    /// Notes the answer to a write. Returns the outcome for the round.
    ///
    /// An object that has changed or does not exist shows in a moment. If it does not, a webhook or a quota denies the
    /// write so.
    ///
    /// # Errors
    /// The message, if it is unknown whether the write was done: then the reconcile fails. After a minute of that, the
    /// write counts as denied.
    pub fn answered(
        &mut self,
        attempt: &AttemptedWrite<'_, K>,
        answer: WriteReply<K>,
        now: Seconds,
    ) -> Result<RoundOutcome, String> {
        // Whatever it is, it is an answer.
        if !matches!(answer, WriteReply::Unsure(_)) {
            self.unanswered.remove(&attempt.object());
        }
        match attempt {
            AttemptedWrite::Apply { .. } => self.apply_answered(attempt, answer, now),
            AttemptedWrite::Set(write) => self.set_answered(write, answer, now),
            AttemptedWrite::Evict(write) => Ok(self.evict_answered(write, answer, now)),
            AttemptedWrite::Step { write, of, failed } => Ok(self.step_answered((write, of, failed), answer, now)),
        }
    }

    fn apply_answered(
        &mut self,
        attempt: &AttemptedWrite<'_, K>,
        answer: WriteReply<K>,
        now: Seconds,
    ) -> Result<RoundOutcome, String> {
        let AttemptedWrite::Apply { label, write, .. } = attempt else {
            return Ok(RoundOutcome::Nothing);
        };
        let object = attempt.object();
        match answer {
            WriteReply::Done(Some(claim)) => {
                last_applies::note::<K>(&mut self.applies, label, &claim, now);
                self.applied(claim);
            }
            WriteReply::Done(None) => {}
            WriteReply::Undone(message) => self.note_denied(attempt, (K::changed_by_others(), message), None, now),
            WriteReply::Denied { cause, message, stored } => self.note_denied(attempt, (cause, message), stored, now),
            WriteReply::Overtaken(..) if !self.is_stuck(&object, write, now) => return Ok(RoundOutcome::Overtaken),
            WriteReply::Overtaken(cause, message) => self.note_denied(attempt, (cause, message), None, now),
            WriteReply::Unsure(why) if !self.is_unanswered(&object) => return Err(why),
            WriteReply::Unsure(why) => self.note_denied(attempt, (K::not_answered(), why), None, now),
        }
        Ok(RoundOutcome::DecideAgain)
    }

    /// Notes that an apply was denied, or that the API server stored something else.
    fn note_denied(
        &mut self,
        attempt: &AttemptedWrite<'_, K>,
        (cause, message): (K::Cause, String),
        stored: Option<K::Version>,
        now: Seconds,
    ) {
        let AttemptedWrite::Apply {
            uid, version, label, ..
        } = attempt
        else {
            return;
        };
        let before = self.denials.get(*uid).filter(|denial| denial.label == **label);
        let denial = Refusal {
            label: (*label).clone(),
            resource_version: stored.unwrap_or_else(|| (*version).clone()),
            cause,
            message,
            attempts: before.map_or(0, |denial| denial.attempts).saturating_add(1),
            last: now,
        };
        self.denials.insert((*uid).clone(), denial);
    }

    fn set_answered(&mut self, write: &K::Write, answer: WriteReply<K>, now: Seconds) -> Result<RoundOutcome, String> {
        let object = WrittenObject::Set;
        let why = match answer {
            WriteReply::Done(_) => {
                (self.undone, self.write_denied) = (None, None);
                self.overtaken.remove(&object);
                return Ok(RoundOutcome::Nothing);
            }
            WriteReply::Undone(what) => {
                self.undone = Some(RetriedWrite::again(self.undone.as_ref(), what, now));
                return Ok(RoundOutcome::DecideAgain);
            }
            WriteReply::Overtaken(..) if !self.is_stuck(&object, write, now) => return Ok(RoundOutcome::Overtaken),
            WriteReply::Unsure(why) if !self.is_unanswered(&object) => return Err(why),
            WriteReply::Overtaken(_, why) | WriteReply::Denied { message: why, .. } | WriteReply::Unsure(why) => why,
        };
        self.write_denied = Some(RetriedWrite::again(self.write_denied.as_ref(), why, now));
        Ok(RoundOutcome::DecideAgain)
    }

    /// The watch shows that an evicted Pod ends.
    fn evict_answered(&mut self, write: &K::Write, answer: WriteReply<K>, now: Seconds) -> RoundOutcome {
        let object = WrittenObject::Evicted;
        let why = match answer {
            WriteReply::Done(_) => {
                self.not_evicted = None;
                self.overtaken.remove(&object);
                return RoundOutcome::Nothing;
            }
            WriteReply::Overtaken(..) if !self.is_stuck(&object, write, now) => return RoundOutcome::Overtaken,
            WriteReply::Overtaken(..) => {
                "the answer is that it has changed or does not exist, but it is unchanged".to_owned()
            }
            WriteReply::Denied { message: why, .. } | WriteReply::Undone(why) | WriteReply::Unsure(why) => why,
        };
        self.not_evicted = Some(RetriedWrite::again(self.not_evicted.as_ref(), why, now));
        RoundOutcome::DecideAgain
    }

    /// A step that is done shows in the next decision. A webhook that drops what was written, or a proxy that answers in
    /// place of the API server, shows in that the same step is due again.
    fn step_answered(
        &mut self,
        (write, of, failed): (&K::Write, &K::Uid, &str),
        answer: WriteReply<K>,
        now: Seconds,
    ) -> RoundOutcome {
        let object = WrittenObject::ReCreated;
        let is_of_other = |claim: &Option<K::Claim>| claim.as_ref().is_some_and(|claim| K::uid(claim) != *of);
        let why = match answer {
            WriteReply::Done(claim) if !is_of_other(&claim) => {
                claim.into_iter().for_each(|claim| self.applied(claim));
                if !self.is_repeated(&object, write) {
                    self.not_recreated = None;
                    self.is_stuck(&object, write, now);
                    return RoundOutcome::DecideAgain;
                }
                None
            }
            WriteReply::Done(_) | WriteReply::Overtaken(..) => None,
            WriteReply::Denied { message: why, .. } | WriteReply::Undone(why) | WriteReply::Unsure(why) => Some(why),
        };
        if why.is_none() && !self.is_stuck(&object, write, now) {
            return RoundOutcome::Overtaken;
        }
        let unchanged = "the answer is that it is done, has changed or does not exist, but it is unchanged";
        let why = format!("{failed}: {}", why.as_deref().unwrap_or(unchanged));
        self.not_recreated = Some(RetriedWrite::again(self.not_recreated.as_ref(), why, now));
        RoundOutcome::DecideAgain
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
