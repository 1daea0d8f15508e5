//! One replacement, from its first step to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::super::api_calls::ApiOutcome;
use super::answer::Written;
use super::cluster::{Cluster, SetName, Sight};
use super::memory::RunMemory;
use super::place::RunPlace;
use super::steps::{MARK, Reply, name};
use crate::api::ReplacementReason;
use crate::replace::{Answer, Consequence, End, Fault, Journal, LastVersion, LiveSet, Millis, Part, Step, Waits, next};

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
    /// True iff the set was let go and is yet to be created.
    pub(super) is_absent: bool,
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
    /// `whenDeleted` stays `Retain`.
    Retained,
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
    /// The set was let go, does not exist, and is not created again.
    Absent(Fault),
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
    pub(super) taken_back: bool,
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
        self.kept.was_absent = sight.set.is_none() && (self.kept.was_absent || self.kept.is_absent);
        loop {
            // The set is created first.
            if self.stops() && !sight.is_let_go() {
                return Ok(None);
            }
            let step = self.decide(&sight).await?;
            match &step {
                Step::End(end) => return Ok(Some((sight.uid(), self.ended(&sight, end.clone())))),
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
            let written = self.cluster.execute(self.set, &sight, &step).await;
            match self.after(&mut sight, &step, written).await? {
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
        self.kept.memory.forget_reads();
        self.cluster.look(self.set).await
    }

    /// The next step. Reads what the decision asks for.
    pub(super) async fn decide(&mut self, sight: &Sight) -> Result<Step, String> {
        let cluster = self.cluster;
        let mut world = cluster.world(sight, self.forced);
        world.taken_back = self.taken_back;
        self.kept.memory.show(&mut world);
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
        self.kept.memory.keep(&world, &step);
        Ok(step)
    }

    /// Notes the answer to a step.
    async fn after(&mut self, sight: &mut Sight, step: &Step, written: Written<Reply>) -> Result<Then, String> {
        let Written { outcome, message } = written;
        tracing::info!(
            namespace = self.set.namespace,
            set = self.set.name,
            step = name(step),
            outcome = outcome.as_str(),
            "replace StatefulSet"
        );
        let denied = match &outcome {
            ApiOutcome::Denied { cause, message, .. } => format!("{cause}: {message}"),
            _ => String::new(),
        };
        let answer = match &outcome {
            ApiOutcome::Done(_) => Answer::Done,
            ApiOutcome::Conflict | ApiOutcome::NotFound => Answer::Overtaken(&message),
            ApiOutcome::Denied { .. } => Answer::Denied(&denied),
            ApiOutcome::Unsure { .. } => Answer::Unsure,
        };
        let of = (sight.set.as_ref(), sight.journal.as_ref());
        let consequence = (self.kept.memory).answered(of, sight.versions(), (step, name(step)), answer);
        match (consequence, outcome) {
            (Consequence::Done, ApiOutcome::Done(reply)) => {
                (self.kept.failures, self.kept.conflicts) = (0, 0);
                Ok(self.done(sight, step, reply))
            }
            (Consequence::Done | Consequence::TakenBack, _) => Ok(Then::ReadAll),
            (Consequence::ReadAgain, outcome) => {
                self.kept.conflicts += 1;
                if self.kept.conflicts > CONFLICTS {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                // Others may write to the set all the time: the next try comes as soon as possible.
                let is_of_set = outcome == ApiOutcome::Conflict && step.is_of_version();
                Ok(if is_of_set { Then::ReadSet } else { Then::ReadAll })
            }
            (Consequence::Stalled(fault), _) => {
                self.notify(sight, Happened::Stalled(fault));
                Err(String::new())
            }
            (Consequence::TryAgain, ApiOutcome::Unsure { why, .. }) => Err(why),
            (Consequence::TryAgain, _) => Err(message),
        }
    }

    /// Shows the reply in the sight.
    fn done(&mut self, sight: &mut Sight, step: &Step, reply: Reply) -> Then {
        self.note(sight, step);
        match (step, reply) {
            (Step::WriteJournal(journal), Reply::Journal([uid, version])) => {
                sight.journal = Some(journal.as_ref().clone());
                (sight.secret, sight.journal_version) = (uid, version);
            }
            (Step::DeleteJournal | Step::LeaveForeign(_), _) => {
                (sight.journal, sight.secret, sight.journal_version) = (None, None, None);
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
                (self.kept.is_absent, self.kept.was_absent) = (true, true);
            }
            Step::Create(_) => {
                self.kept.created = true;
                (self.kept.is_absent, self.kept.was_absent) = (false, false);
                self.note_retention(sight, sight.journal.as_ref().map(Journal::old).as_ref());
                if let Some(let_go) = self.kept.let_go.take() {
                    self.notify(sight, Happened::Absent(let_go.elapsed()));
                }
            }
            // Then the new set, ours or that of somebody else, has all that it should have.
            Step::DeleteJournal if sight.is_released() => {
                self.kept.created = sight.set.is_some();
                self.kept.gave_up = sight.is_let_go();
            }
            Step::LeaveForeign(fault) => self.kept.foreign = Some(fault.clone()),
            Step::Unmark { .. } => self.note_retention(sight, sight.set.as_ref()),
            _ => {}
        }
    }

    /// Somebody wants `Retain` meanwhile.
    fn note_retention(&self, sight: &Sight, last: Option<&LiveSet>) {
        if let (Some(journal), Some(last)) = (&sight.journal, last)
            && journal.keeps_retain(last)
        {
            self.notify(sight, Happened::Retained);
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
        self.kept.memory.forget_dependents();
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
        let (first, longest) = if self.kept.is_absent { absent } else { present };
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

    fn ended(&self, sight: &Sight, end: End) -> Ended {
        match end {
            End::Nothing if sight.set.is_none() && (self.kept.was_absent || self.forced) => {
                Ended::Absent(self.set_absent())
            }
            End::Nothing => match &self.kept.foreign {
                Some(fault) => Ended::Foreign(fault.clone()),
                None if self.kept.created => Ended::Replaced,
                None => Ended::Nothing,
            },
            End::Refused(fault) => Ended::Refused(fault),
        }
    }

    /// Why a set does not exist and is not created.
    fn set_absent(&self) -> Fault {
        let why = match (self.kept.gave_up, self.kept.was_absent) {
            (true, _) => "its namespace is being deleted or was deleted, or its user deleted it with its Pods",
            (false, true) => "somebody deleted its journal before it was created again",
            (false, false) => "somebody deleted it",
        };
        Fault {
            reason: ReplacementReason::SetAbsent,
            message: format!("the StatefulSet does not exist any more: {why}"),
        }
    }

    fn notify(&self, sight: &Sight, what: Happened) {
        self.send(sight.uid(), sight.old_replicas(what == Happened::Step(MARK)), what);
    }

    fn send(&self, uid: Option<String>, replicas: Option<i64>, what: Happened) {
        // Nobody listens any more when the controller stops.
        let _ = self.notices.unbounded_send(Notice {
            uid,
            replicas,
            is_absent: self.kept.is_absent,
            what,
        });
    }
}

fn step_denied(message: String) -> Fault {
    Fault {
        reason: ReplacementReason::StepDenied,
        message,
    }
}
