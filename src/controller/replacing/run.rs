//! One replacement, from its first step to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::super::api_calls::ApiOutcome;
use super::cluster::{Cluster, SetName, Sight};
use super::memory::RunMemory;
use super::place::RunPlace;
use super::steps::{MARK, Reply, name};
use crate::api::ReplacementReason;
use crate::replace::{End, Fault, LastVersion, LiveSet, Millis, Part, Step, Waits, next};

/// The pauses after a failed step in milliseconds: the first while the set does not exist, and otherwise; the longest.
const PAUSES: [(u64, u64); 2] = [(50, 1_000), (1_000, 60_000)];

/// How often a pause checks whether the controller stops.
const POLL: Duration = Duration::from_millis(200);

/// After this many failures before the first write, the set is not replaced for now.
const TRIES: u32 = 2;

/// After this many conflicts in a row, steps pause in between.
const CONFLICTS: u32 = 50;

/// What a replacement reports while it runs.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Notice {
    /// The uid of the set, if it exists.
    pub(super) uid: Option<String>,
    /// The replicas of the old set, while it is replaced.
    pub(super) replicas: Option<i64>,
    /// What happened.
    pub(super) what: Happened,
}

/// What happened in a replacement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happened {
    /// A step is executed.
    Step(&'static str),
    /// It must not begin yet.
    Waits(Fault),
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

/// What comes before the next decision.
enum Then {
    Decide,
    ReadSet,
    ReadAll,
}

/// A replacement in progress.
pub(super) struct Run<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) set: &'a SetName,
    pub(super) forced: bool,
    pub(super) stopping: &'a AtomicBool,
    pub(super) notices: &'a UnboundedSender<Notice>,
    pub(super) place: RunPlace<'a>,
    pub(super) kept: RunMemory,
}

impl Run<'_> {
    /// Runs until the replacement has ended. Returns the uid of the set that exists then.
    pub(super) async fn run(mut self) -> (Option<String>, Ended) {
        loop {
            let waits = |fault| self.send(None, None, Happened::Waits(fault));
            self.place.take(self.kept.begun, self.kept.is_absent, waits).await;
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
        let mut sight = self.look().await?;
        self.kept.is_absent = sight.is_let_go();
        loop {
            // The set is created first.
            if self.stops() && !sight.is_let_go() {
                return Ok(None);
            }
            let step = self.decide(&sight).await?;
            match &step {
                Step::End(end) => return Ok(Some((sight.uid(), self.ended(end.clone())))),
                Step::Wait { millis, waits } => {
                    self.wait(sight, *millis, waits).await;
                    return Ok(None);
                }
                _ => {}
            }
            if !self.place.begins().await {
                return Ok(None);
            }
            self.kept.begun = true;
            self.notify(&sight, Happened::Step(name(&step)));
            let outcome = self.cluster.execute(self.set, &sight, &step).await;
            match self.after(&mut sight, &step, outcome).await? {
                Then::Decide => {}
                Then::ReadSet => {
                    self.kept.polled = Some(sight);
                    return Ok(None);
                }
                Then::ReadAll => return Ok(None),
            }
        }
    }

    /// Reads everything, or only the set while others are at work on it: a write to it names its version.
    async fn look(&mut self) -> Result<Sight, String> {
        if let Some(mut sight) = self.kept.polled.take() {
            let uid = sight.uid();
            sight.set = self.cluster.read(self.set).await?;
            // A CREATE names no version of the journal.
            if sight.set.is_some() && sight.uid() == uid {
                return Ok(sight);
            }
        }
        (self.kept.namespace, self.kept.last_version) = (None, None);
        self.cluster.look(self.set).await
    }

    /// The next step. Reads what the decision asks for.
    pub(super) async fn decide(&mut self, sight: &Sight) -> Result<Step, String> {
        self.kept.forget_old_checks();
        let cluster = self.cluster;
        let mut world = cluster.world(sight, self.forced);
        self.kept.show(&mut world);
        let step = loop {
            match next(&world) {
                // Without the object, nothing is worth waiting longer for.
                Step::Read(Part::LastVersion) if self.kept.failures >= TRIES => {
                    world.last_version = Some(LastVersion::Unknown);
                }
                Step::Read(part) => cluster.fill(self.set, &mut world, part).await?,
                step => break step,
            }
        };
        self.kept.keep(&world, &step);
        Ok(step)
    }

    /// Notes the outcome of a step.
    async fn after(&mut self, sight: &mut Sight, step: &Step, outcome: ApiOutcome<Reply>) -> Result<Then, String> {
        tracing::info!(
            namespace = self.set.namespace,
            set = self.set.name,
            step = name(step),
            outcome = outcome.as_str(),
            "replace StatefulSet"
        );
        // A write to the set alone changes nothing about its Pods.
        if !matches!(outcome, ApiOutcome::Done(_) | ApiOutcome::Conflict) || !step.keeps_dependents() {
            self.kept.dependents = None;
        }
        match outcome {
            ApiOutcome::Done(reply) => {
                (self.kept.failures, self.kept.conflicts) = (0, 0);
                Ok(self.done(sight, step, reply))
            }
            ApiOutcome::NotFound if matches!(step, Step::Create(_)) => {
                self.kept.namespace_ends = true;
                Ok(Then::ReadAll)
            }
            ApiOutcome::Conflict | ApiOutcome::NotFound => {
                self.kept.conflicts += 1;
                if self.kept.conflicts > CONFLICTS {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                // Others may write to the set all the time: the next try comes as soon as possible.
                let is_of_set = outcome == ApiOutcome::Conflict && step.is_of_version();
                Ok(if is_of_set { Then::ReadSet } else { Then::ReadAll })
            }
            ApiOutcome::Denied { cause, message, .. } => {
                self.denied(sight, step, &cause, &message);
                if self.kept.denied.is_some() || self.kept.namespace_ends {
                    return Ok(Then::ReadAll);
                }
                Err(String::new())
            }
            ApiOutcome::Unsure { why, .. } => Err(why),
        }
    }

    /// Shows the reply in the sight.
    fn done(&mut self, sight: &mut Sight, step: &Step, reply: Reply) -> Then {
        self.note(sight, step);
        match (step, reply) {
            (Step::WriteJournal(journal), Reply::Journal(version)) => {
                sight.journal = Some(journal.as_ref().clone());
                sight.journal_version = version;
            }
            (Step::DeleteJournal | Step::LeaveForeign(_), _) => {
                (sight.journal, sight.journal_version) = (None, None);
            }
            (Step::LetGo(_), _) => sight.set = None,
            (_, Reply::Set(set)) => sight.set = Some(set),
            (_, Reply::Report(owners)) => match &mut sight.report {
                Some(report) => report.metadata.owner_references = owners,
                None => return Then::ReadAll,
            },
            _ => return Then::ReadAll,
        }
        Then::Decide
    }

    /// Notes what a step has done, before the sight shows it.
    fn note(&mut self, sight: &Sight, step: &Step) {
        match step {
            Step::LetGo(_) => {
                self.kept.let_go = Some(Instant::now());
                self.kept.is_absent = true;
            }
            Step::Create(_) => {
                self.kept.created = true;
                self.kept.is_absent = false;
                if let Some(let_go) = self.kept.let_go.take() {
                    self.notify(sight, Happened::Absent(let_go.elapsed()));
                }
            }
            // Then the new set, ours or that of somebody else, has all that it should have.
            Step::DeleteJournal if sight.is_released() => self.kept.created = sight.set.is_some(),
            Step::LeaveForeign(fault) => self.kept.foreign = Some(fault.clone()),
            Step::RestoreStrategy { set, .. } => self.kept.verified = Some(set.uid.clone()),
            Step::RestoreManagers { set, .. } => self.kept.managers_restored = Some(set.uid.clone()),
            _ => {}
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
        let backs_out = matches!(step, Step::Unmark { .. } | Step::DeleteJournal | Step::OwnReport { .. });
        if is_begun || sight.is_released() || backs_out {
            self.notify(sight, Happened::Stalled(fault));
        } else {
            self.kept.denied = Some(fault);
        }
    }

    async fn wait(&mut self, sight: Sight, millis: Millis, waits: &Waits) {
        if let Waits::Stalled(fault) = waits {
            self.notify(&sight, Happened::Stalled(fault.clone()));
        }
        let is_orphaning = sight.set.as_ref().is_some_and(LiveSet::is_orphaning);
        match waits {
            Waits::Settling => self.place.collected(),
            Waits::Others(_) | Waits::Stalled(_) if is_orphaning => self.place.collects(),
            Waits::Others(_) | Waits::Stalled(_) => {}
        }
        self.kept.dependents = None;
        self.place.pauses();
        self.pause(millis).await;
        self.kept.polled = matches!(waits, Waits::Others(_)).then_some(sight);
    }

    /// A user who stops while the set is absent means after its creation.
    fn stops(&self) -> bool {
        self.stopping.load(Ordering::Acquire) && !(self.forced && self.kept.is_absent)
    }

    /// Sleeps, unless it is to stop.
    async fn pause(&self, millis: Millis) {
        let end = Instant::now() + Duration::from_millis(millis);
        while Instant::now() < end && !self.stops() {
            tokio::time::sleep_until(end.min(Instant::now() + POLL)).await;
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
            self.send(None, None, what);
        }
        self.place.gives_back();
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
        self.send(sight.uid(), sight.old_replicas(what == Happened::Step(MARK)), what);
    }

    fn send(&self, uid: Option<String>, replicas: Option<i64>, what: Happened) {
        // Nobody listens any more when the controller stops.
        let _ = self.notices.unbounded_send(Notice { uid, replicas, what });
    }
}

fn step_denied(message: String) -> Fault {
    Fault {
        reason: ReplacementReason::StepDenied,
        message,
    }
}
