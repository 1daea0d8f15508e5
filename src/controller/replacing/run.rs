//! One replacement, from its first step to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::super::api_calls::ApiOutcome;
use super::cluster::{Cluster, SetName, Sight};
use super::memory::RunMemory;
use super::steps::name;
use crate::api::ReplacementReason;
use crate::replace::{End, Fault, Millis, Stage, Step, Waits, next};

/// The pauses after a failed step in milliseconds: the first while the set does not exist, and otherwise; the longest.
const PAUSES: [(u64, u64); 2] = [(50, 1_000), (1_000, 60_000)];

/// How often a pause checks whether the controller stops, in milliseconds.
const POLL: Millis = 200;

/// After this many failures before the first write, the set is not replaced for now.
const TRIES: u32 = 2;

/// After this many conflicts in a row, steps pause in between.
const CONFLICTS: u32 = 50;

/// What a replacement reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Notice {
    /// The uid of the set, if it exists.
    pub(super) uid: Option<String>,
    /// What happened.
    pub(super) what: Happened,
}

/// What happened in a replacement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happened {
    /// A step is executed.
    Step(&'static str),
    /// It waits for longer than it should.
    Stalled(Fault),
    /// The set did not exist for this time.
    Absent(Duration),
    /// It has ended.
    Ended(Ended),
}

/// How a replacement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The set has the desired templates.
    Replaced,
    /// Nothing was to be done.
    Nothing,
    /// The set is not replaced; it is as before.
    Refused(Fault),
    /// Somebody else created a set of the name.
    Foreign(Fault),
    /// The controller stops. Another one goes on.
    Stopped,
}

/// A replacement in progress.
pub(super) struct Run<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) set: &'a SetName,
    pub(super) forced: bool,
    pub(super) stopping: &'a AtomicBool,
    pub(super) notices: &'a UnboundedSender<Notice>,
    pub(super) kept: RunMemory,
}

impl Run<'_> {
    /// Runs until the replacement has ended. Returns the uid of the set that exists then.
    pub(super) async fn run(mut self) -> (Option<String>, Ended) {
        loop {
            if self.stops() {
                return (None, Ended::Stopped);
            }
            match self.round().await {
                Ok(Some(ended)) => return ended,
                Ok(None) => {}
                // The set is rolled out again meanwhile.
                Err(why) if !self.kept.begun && self.kept.failures >= TRIES => {
                    return (None, Ended::Refused(step_denied(why)));
                }
                Err(why) => self.failed(&why).await,
            }
        }
    }

    /// Reads, decides and executes, until something must be read again.
    async fn round(&mut self) -> Result<Option<(Option<String>, Ended)>, String> {
        let mut sight = self.cluster.look(self.set).await?;
        self.kept.is_absent = sight.is_let_go();
        self.kept.namespace = None;
        loop {
            let step = self.decide(&sight).await?;
            match &step {
                Step::End(end) => return Ok(Some((sight.uid(), self.ended(end.clone())))),
                Step::Wait { millis, waits } => {
                    self.wait(&sight, *millis, waits).await;
                    return Ok(None);
                }
                _ => {}
            }
            self.kept.begun = true;
            self.notify(&sight, Happened::Step(name(&step)));
            let outcome = self.cluster.execute(self.set, &sight, &step).await;
            if !self.after(&mut sight, &step, outcome).await? {
                return Ok(None);
            }
        }
    }

    /// The next step. Reads what the decision asks for.
    pub(super) async fn decide(&mut self, sight: &Sight) -> Result<Step, String> {
        self.kept.forget_old_checks();
        let cluster = self.cluster;
        let mut world = cluster.world(sight, self.forced);
        self.kept.show(&mut world);
        let step = loop {
            match next(&world) {
                Step::Read(part) => cluster.fill(self.set, &mut world, part).await?,
                step => break step,
            }
        };
        self.kept.keep(&world, &step);
        Ok(step)
    }

    /// Notes the outcome of a step. Returns whether the next step can be decided without reading again.
    async fn after(
        &mut self,
        sight: &mut Sight,
        step: &Step,
        outcome: ApiOutcome<Option<String>>,
    ) -> Result<bool, String> {
        tracing::info!(
            namespace = self.set.namespace,
            set = self.set.name,
            step = name(step),
            outcome = outcome.as_str(),
            "replace StatefulSet"
        );
        match outcome {
            ApiOutcome::Done(version) => {
                (self.kept.failures, self.kept.conflicts) = (0, 0);
                Ok(self.done(sight, step, version))
            }
            ApiOutcome::NotFound if matches!(step, Step::Create(_)) => {
                self.kept.namespace_ends = true;
                Ok(false)
            }
            ApiOutcome::Conflict | ApiOutcome::NotFound => {
                self.kept.conflicts += 1;
                if self.kept.conflicts > CONFLICTS {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Ok(false)
            }
            ApiOutcome::Denied { cause, message, .. } => {
                self.denied(sight, step, &cause, &message);
                if self.kept.denied.is_some() || self.kept.namespace_ends {
                    return Ok(false);
                }
                Err(String::new())
            }
            ApiOutcome::Unsure { why, .. } => Err(why),
        }
    }

    fn done(&mut self, sight: &mut Sight, step: &Step, version: Option<String>) -> bool {
        match step {
            Step::WriteJournal(journal) => {
                sight.journal = Some(journal.as_ref().clone());
                sight.journal_version = version;
                true
            }
            Step::LetGo(_) => {
                self.kept.let_go = Some(Instant::now());
                sight.set = None;
                self.kept.is_absent = true;
                true
            }
            Step::Create(_) => {
                self.kept.created = true;
                if let Some(let_go) = self.kept.let_go.take() {
                    self.notify(sight, Happened::Absent(let_go.elapsed()));
                }
                false
            }
            // Then the new set, ours or that of somebody else, has all that it should have.
            Step::DeleteJournal
                if sight
                    .journal
                    .as_ref()
                    .is_some_and(|journal| journal.stage != Stage::Prepared) =>
            {
                self.kept.created = sight.set.is_some();
                false
            }
            Step::LeaveForeign(fault) => {
                self.kept.foreign = Some(fault.clone());
                false
            }
            Step::RestoreManagers { .. } => {
                self.kept.managers_restored = true;
                false
            }
            _ => false,
        }
    }

    /// A denied step is retried, unless the set can still be left as it is.
    fn denied(&mut self, sight: &Sight, step: &Step, cause: &str, message: &str) {
        if matches!(step, Step::Create(_)) && message.contains("because it is being terminated") {
            self.kept.namespace_ends = true;
            return;
        }
        let fault = step_denied(format!("the step {} was denied ({cause}): {message}", name(step)));
        let is_begun = sight.set.as_ref().is_none_or(|set| set.terminating());
        let is_released = sight
            .journal
            .as_ref()
            .is_some_and(|journal| journal.stage != Stage::Prepared);
        let backs_out = matches!(step, Step::Unmark { .. } | Step::DeleteJournal | Step::OwnReport { .. });
        if is_begun || is_released || backs_out {
            self.notify(sight, Happened::Stalled(fault));
        } else {
            self.kept.denied = Some(fault);
        }
    }

    async fn wait(&mut self, sight: &Sight, millis: Millis, waits: &Waits) {
        if let Waits::Stalled(fault) = waits {
            self.notify(sight, Happened::Stalled(fault.clone()));
        }
        self.kept.dependents = None;
        self.pause(millis).await;
    }

    /// A user who stops while the set is absent means after its creation.
    fn stops(&self) -> bool {
        self.stopping.load(Ordering::Acquire) && !(self.forced && self.kept.is_absent)
    }

    /// Sleeps, unless it is to stop.
    async fn pause(&self, millis: Millis) {
        let mut left = millis;
        while left > 0 && !self.stops() {
            let step = left.min(POLL);
            tokio::time::sleep(Duration::from_millis(step)).await;
            left -= step;
        }
    }

    /// Pauses after a failure.
    async fn failed(&mut self, why: &str) {
        let [absent, present] = PAUSES;
        let (first, longest) = if self.kept.let_go.is_some() { absent } else { present };
        let pause = (first << self.kept.failures.min(10)).min(longest);
        self.kept.failures += 1;
        if !why.is_empty() {
            tracing::warn!(
                namespace = self.set.namespace,
                set = self.set.name,
                why,
                pause,
                "a step of a replacement failed"
            );
        }
        if self.kept.failures > TRIES && !why.is_empty() {
            let what = Happened::Stalled(step_denied(why.to_owned()));
            let _ = self.notices.unbounded_send(Notice { uid: None, what });
        }
        self.pause(pause).await;
    }

    fn ended(&self, end: End) -> Ended {
        match end {
            End::Nothing => match &self.kept.foreign {
                Some(fault) => Ended::Foreign(fault.clone()),
                None if self.kept.created => Ended::Replaced,
                None => Ended::Nothing,
            },
            End::Refused(fault) => Ended::Refused(fault),
        }
    }

    fn notify(&self, sight: &Sight, what: Happened) {
        let uid = sight.uid();
        // Nobody listens any more when the controller stops.
        let _ = self.notices.unbounded_send(Notice { uid, what });
    }
}

fn step_denied(message: String) -> Fault {
    Fault {
        reason: ReplacementReason::StepDenied,
        message,
    }
}
