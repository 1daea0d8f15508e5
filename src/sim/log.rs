//! What is written down of a run: numbers always, words where somebody reads them.

use std::fmt::Write as _;

use super::api::{Answer, Api, Apply, Cause, Write};
use super::inhabitants::people::Deed;
use super::judge;
use super::mind::{Decision, Mind};
use super::objects::{SLOTS, Set, Target, Want, place};
use super::snapshot::claim_name;
use super::watch::Views;
use super::world::{Fate, Step};
use crate::rollout::Reason;
use crate::rollout::invariants::{Attempt, Told};

/// What is written down.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Seconds since the beginning.
    pub(crate) now: u64,
    /// Steps that came to something.
    pub(crate) steps: u64,
    /// Requests of ours, whatever became of them.
    pub(crate) requests: u32,
    /// Writes that changed something: claims by slot, then what is ready, the record, the report.
    pub(crate) writes: [u16; SLOTS + 3],
    /// Applies that were refused, while there is one controller that does not end.
    pub(crate) attempts: Vec<Attempt>,
    /// Somebody has read an older view: what was said may be said again.
    pub(crate) doubtful: bool,
    /// Somebody gave a claim another attributes class. If its Pod is asked for while the driver works on it, and no controller
    /// looks meanwhile, none says once more that the Pod need not wait.
    pub(crate) crossed: bool,
    /// What was said of claims that are stuck, likewise.
    pub(crate) events: Vec<Told>,
    /// What is to become of requests, by their number.
    pub(crate) faults: Vec<(u32, Fate)>,
    /// What the last decision of each controller has to say.
    says: [Vec<(Reason, Option<u8>, u32)>; super::world::INSTANCES],
    versions: [[u16; SLOTS]; super::world::INSTANCES],
    target: [u64; super::world::INSTANCES],
    /// The wish that the ClaimRollout was last written for.
    reported: u64,
    /// The story, if one is told.
    pub(crate) lines: Option<Vec<String>>,
}

impl Log {
    /// A log that tells the story.
    pub(crate) fn telling() -> Self {
        Self {
            lines: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// What was before does not count.
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

    /// What is to become of the next request.
    pub(crate) fn fate(&self) -> Fate {
        let fault = self.faults.iter().find(|(request, _)| *request == self.requests);
        fault.map_or(Fate::Answered, |(_, fate)| *fate)
    }

    pub(crate) fn stepped(&mut self, step: Step) {
        self.steps += 1;
        let anew = matches!(
            step,
            Step::Send(_, Fate::CrashBefore | Fate::CrashAfter) | Step::Deed(Deed::DeleteSet(_))
        );
        if anew
            || matches!(
                step,
                Step::Crash(_) | Step::Start | Step::TimeTravel(_) | Step::Clock(..)
            )
        {
            self.forget();
            // The ClaimRollout, which remembers what was said, goes with its set.
            self.doubtful |= matches!(step, Step::TimeTravel(_) | Step::Deed(Deed::DeleteSet(_)));
        }
        self.crossed |= matches!(step, Step::Deed(Deed::Class(..)));
        // What a request was, and what became of it, is told where it is made.
        if !matches!(step, Step::Send(..) | Step::Reconcile(_)) {
            self.line(|| format!("  {}", words(step)));
        }
    }

    pub(crate) fn line(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    /// `plan` was asked, about the set as it was seen when the look began.
    pub(crate) fn decided(&mut self, who: u8, decision: &Decision, views: &Views, set: Option<Set>, mind: &Mind) {
        let place = usize::from(who);
        // Nothing is watched then, so what was refused before is not known any more.
        if !decision.rolls_out || decision.settled {
            self.forget();
        }
        // What has gone on since may be stuck again.
        self.events
            .retain(|events| decision.stuck & 1 << (events.claim >> 32) != 0);
        self.says[place].clone_from(&decision.tells);
        self.target[place] = set
            .and_then(|set| set.staged_change().map(|change| judge::id(&change.target)))
            .unwrap_or(0);
        for (slot, claim) in views.claims.iter().enumerate() {
            self.versions[place][slot] = claim.map_or(0, |claim| claim.version);
        }
        if self.lines.is_some() {
            let writes: Vec<String> = decision.writes.iter().map(write_words).collect();
            let writes = if writes.is_empty() {
                "nothing to do".to_owned()
            } else {
                writes.join("; ")
            };
            let progress = mind.words(decision.says).to_owned();
            self.line(|| format!("{} looks: {writes} ({progress})", controller(who)));
        }
    }

    /// A request was made.
    pub(crate) fn sent(&mut self, who: u8, write: &Write, fate: Fate, answer: Answer, before: &Api, after: &Api) {
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
        // An answer that is lost is not known to be a refusal.
        if let (Write::Apply(apply), Fate::Answered | Fate::Refused) = (write, fate) {
            let claim = after.claims[usize::from(apply.slot)];
            let changed = answer == Answer::Done && claim.is_some_and(|claim| !apply.is_in(&claim));
            self.attempted(
                apply,
                if changed {
                    Answer::Refused(Cause::Changed)
                } else {
                    answer
                },
            );
        }
        self.line(|| {
            let fate = match fate {
                Fate::Answered => String::new(),
                fate => format!(" [{fate:?}]"),
            };
            format!("{} sends: {}{fate} -> {answer:?}", controller(who), write_words(write))
        });
    }

    /// What is reported of another wish takes the place of what was, said or not: after that it may be said again.
    fn reported(&mut self, target: u64) {
        if self.reported != target {
            self.events.clear();
        }
        self.reported = target;
    }

    /// Attempts count as long as the same is tried and refused.
    fn attempted(&mut self, apply: &Apply, answer: Answer) {
        let claim = apply.uid.unwrap_or(0).into();
        let revision = judge::id(&apply.revision);
        let refused = matches!(answer, Answer::Refused(_));
        let ends =
            |attempt: &Attempt| attempt.claim == claim && (answer == Answer::Done || attempt.revision != revision);
        self.attempts.retain(|attempt| !ends(attempt));
        if refused {
            // That a claim has changed says nothing about those who change what is written.
            let by_others = answer == Answer::Refused(Cause::Changed);
            let version = apply.version.filter(|_| !by_others).unwrap_or(0).into();
            self.attempts.push(Attempt {
                at: self.now,
                claim,
                version,
                revision,
            });
        }
    }

    /// What the last decision has to say is said: after it was reported.
    pub(crate) fn said(&mut self, who: usize) {
        let says = std::mem::take(&mut self.says[who]);
        for (reason, slot, text) in says {
            if let (true, Some(slot)) = (reason.is_warning(), slot) {
                let version = self.versions[who][usize::from(slot)];
                let claim = u64::from(slot) << 32 | u64::from(version);
                // Of another wish it may be said again.
                let cause = self.target[who].wrapping_mul(31).wrapping_add(text.into());
                self.events.push(Told { claim, cause });
            }
        }
    }

    /// Whoever begins anew knows nothing of what was before.
    fn forget(&mut self) {
        self.attempts.clear();
        self.events.clear();
    }
}

fn controller(who: u8) -> &'static str {
    if who == 0 { "controller" } else { "second controller" }
}

fn write_words(write: &Write) -> String {
    match write {
        Write::Apply(apply) => apply_words(apply),
        Write::StagedChange { change: None, .. } => "no record".to_owned(),
        Write::StagedChange {
            change: Some(change), ..
        } => {
            format!(
                "record {}: {}",
                wish_words(&change.target),
                if change.complete { "Complete" } else { "RollingOut" }
            )
        }
        Write::Ready { ready, .. } => match ready {
            Some((_, ordinal)) => format!("ready {ordinal}"),
            None => "ready no more".to_owned(),
        },
        Write::Report { says, .. } => format!("report {says}"),
        Write::Partition { to, .. } => format!("partition {to}"),
        Write::Delete { slot } => format!("delete {}", claim_name((*slot).into())),
    }
}

fn apply_words(apply: &Apply) -> String {
    let mut text = format!("apply {} {}Gi", claim_name(apply.slot.into()), apply.size);
    if apply.class != 0 {
        let _ = write!(text, " class-{}", apply.class);
    }
    if apply.taken_back {
        text.push_str(" (taken back)");
    }
    text
}

/// A wish in words.
pub(crate) fn wish_words(target: &Target) -> String {
    let wants = target.wants().iter().map(|Want { size, class, tier }| {
        let class = if *class == 0 {
            String::new()
        } else {
            format!(" class-{class}")
        };
        let tier = if *tier == 0 { String::new() } else { format!(" t{tier}") };
        format!("{size}Gi{class}{tier}")
    });
    wants.collect::<Vec<_>>().join(" + ")
}

/// A step in words.
pub(crate) fn words(step: Step) -> String {
    let claim = |slot: u8| claim_name(slot.into());
    match step {
        Step::Deliver(who, kind) => format!("{} is shown {kind:?}", controller(who)),
        Step::Reconcile(who) => format!("{} looks", controller(who)),
        Step::Send(who, fate) => format!("{} sends [{fate:?}]", controller(who)),
        Step::Crash(who) => format!("{} ends and begins anew", controller(who)),
        Step::Start => "a second controller begins".to_owned(),
        Step::Freeze => "an API server stops following".to_owned(),
        Step::TimeTravel(who) => format!("{} reads from the API server that is behind", controller(who)),
        Step::Sync => "the StatefulSet controller makes a write".to_owned(),
        Step::Retry => "the StatefulSet controller tries again".to_owned(),
        Step::Observe => "the StatefulSet controller writes the status".to_owned(),
        Step::Kubelet(ordinal) => format!("kubelet: Pod {ordinal}"),
        Step::Provision(slot) => format!("a volume is made for {}", claim(slot)),
        Step::Resize(slot, how) => format!("resizer: {} {how:?}", claim(slot)),
        Step::Collect => "the garbage collector deletes something".to_owned(),
        Step::Tick(seconds) => format!("{seconds} s go by"),
        Step::Clock(who, seconds) => format!("the clock of {} jumps by {seconds} s", controller(who)),
        Step::Deed(deed) => format!("somebody: {deed:?}"),
    }
}

/// What there is, in a line.
pub(crate) fn state_words(api: &Api) -> String {
    let Some(set) = api.set else {
        return "no set".to_owned();
    };
    let mut text = format!(
        "set: {} replicas, image {}, partition {}",
        set.spec.replicas, set.spec.image, set.spec.partition
    );
    if api.max_unavailable {
        text.push_str(", Kubernetes 1.37");
    }
    if let Some(change) = set.staged_change() {
        let _ = write!(text, ", staged {}", wish_words(&change.target));
    }
    for (slot, claim) in api.claims.iter().enumerate() {
        let Some(claim) = claim else {
            continue;
        };
        let (template, ordinal) = place(slot);
        let at = claim
            .revision
            .map_or_else(|| "-".to_owned(), |target| wish_words(&target));
        let _ = write!(
            text,
            "; claim {template}/{ordinal} {}/{}Gi at {at}",
            claim.capacity, claim.request
        );
    }
    text
}
