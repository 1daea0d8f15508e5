//! One controller, and the reconcile in progress.

use std::sync::Arc;

use super::memory::InstanceMemory;
use crate::sim::api::Api;
use crate::sim::clock::{advance, grow};
use crate::sim::decisions::Decisions;
use crate::sim::objects::{Age, OLDEST, SLOTS, SetObject};
use crate::sim::plan_decision::PlanDecision;
use crate::sim::planted::Planted;
use crate::sim::settings::ModelSettings;
use crate::sim::watch::{Views, WatchKind};
use crate::sim::write::Write;

/// The most requests of one round: an apply for each claim, `ready`, the staged change, the report.
pub(crate) const REQUESTS: usize = 13;

/// The most rounds of one reconcile.
const ROUNDS: u8 = 32;

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    pub(crate) alive: bool,
    pub(crate) views: Views,
    /// Claims and Pods are watched, because a rollout is in progress.
    pub(crate) open: bool,
    pub(crate) memory: Arc<InstanceMemory>,
    pub(crate) reconcile: Option<Arc<Reconcile>>,
    pub(crate) requeue: NextReconcile,
}

/// The next reconcile of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NextReconcile {
    /// At once.
    Now,
    /// After so many seconds, or at the next change.
    After(Age),
    /// At the next change.
    Never,
}

/// The outcome of the requests of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ModelRound {
    Nothing,
    Requeue,
    Overtaken,
}

/// A reconcile in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reconcile {
    /// The set when the reconcile started.
    pub(crate) set: SetObject,
    pub(crate) queue: [Option<Write>; REQUESTS],
    pub(crate) next: u8,
    pub(crate) acted: ModelRound,
    pub(crate) rounds: u8,
    /// Only the report is left.
    pub(crate) reporting: bool,
    /// A write had no answer.
    pub(crate) failed: bool,
    /// The number of the report.
    pub(crate) content: u32,
    pub(crate) settled: bool,
    pub(crate) requeue: Option<Age>,
}

impl Reconcile {
    /// Whether the rollout is complete after these requests.
    pub(crate) fn ends(&self) -> bool {
        let ends = |write: &Write| matches!(write, Write::StagedChange { change: Some(change), .. } if change.complete);
        self.queue.iter().flatten().any(ends)
    }
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            alive: false,
            views: Views::of(&Api::new()),
            open: false,
            memory: Arc::default(),
            reconcile: None,
            requeue: NextReconcile::Never,
        }
    }
}

impl Instance {
    /// A controller that has just listed everything.
    pub(crate) fn started(api: &Api) -> Self {
        Self {
            alive: true,
            views: Views::of(api),
            requeue: NextReconcile::Now,
            ..Self::default()
        }
    }

    /// A watch event; true if it shows anything new.
    pub(crate) fn receive(&mut self, api: &Api, kind: WatchKind, planted: Option<Planted>) -> bool {
        let news = self.views.deliver(api, kind);
        let concerns = match kind {
            WatchKind::Sets | WatchKind::Reports => true,
            WatchKind::Claims | WatchKind::Pods => self.open && planted != Some(Planted::Unobserved),
        };
        if news && concerns {
            self.requeue = NextReconcile::Now;
        }
        news
    }

    pub(crate) fn tick(&mut self, seconds: Age) {
        if let NextReconcile::After(left) = self.requeue {
            let left = left.saturating_sub(seconds);
            self.requeue = if left <= 0 {
                NextReconcile::Now
            } else {
                NextReconcile::After(left)
            };
        }
        let Views { set, pods, report, .. } = &mut self.views;
        advance(set, pods, report, seconds);
        if let Some(reconcile) = &mut self.reconcile {
            Arc::make_mut(reconcile).set.age(seconds);
        }
        if let Some(report) = &mut Arc::make_mut(&mut self.memory).report {
            report.started = report.started.saturating_add(seconds).min(OLDEST);
        }
        self.jump(seconds);
    }

    /// The clock jumps. Timers do not follow it.
    pub(crate) fn jump(&mut self, seconds: Age) -> bool {
        if self.memory.denials.iter().all(Option::is_none) && self.memory.undone.is_none() {
            return false;
        }
        let memory = Arc::make_mut(&mut self.memory);
        let denials = memory.denials.iter_mut().flatten().map(|denial| &mut denial.age);
        for age in denials.chain(memory.undone.iter_mut().map(|undone| &mut undone.age)) {
            *age = grow(*age, seconds);
        }
        true
    }

    /// Whether nothing is left to do, or the set is unknown.
    pub(crate) fn has_nothing_to_do(&mut self, planted: Option<Planted>) -> bool {
        let Some(set) = self.views.set else {
            self.memory = Arc::default();
            self.open = false;
            return true;
        };
        if self.memory.of != set.uid {
            self.memory = Arc::new(InstanceMemory {
                of: set.uid,
                ..InstanceMemory::default()
            });
        }
        let report = InstanceMemory::latest(&mut self.memory, self.views.report);
        if report.is_none() && set.staged_change().or(set.unreadable()).is_none() {
            self.memory = Arc::new(InstanceMemory {
                of: set.uid,
                ..InstanceMemory::default()
            });
            self.open = false;
            return true;
        }
        let report = report.map_or(0, |report| report.version);
        self.memory.is_settled(&set, report, planted)
    }

    /// Every few hours, a set that is settled is reconciled again: its claims are not watched.
    pub(crate) fn check_again(&mut self) {
        if self.alive && self.memory.settled.is_some() {
            Arc::make_mut(&mut self.memory).settled = None;
            self.requeue = NextReconcile::Now;
        }
    }

    /// Starts a reconcile, if one is due.
    pub(crate) fn begin(&mut self, decisions: &mut Decisions, settings: ModelSettings) -> Option<Arc<PlanDecision>> {
        if !self.alive || self.reconcile.is_some() || self.requeue != NextReconcile::Now {
            return None;
        }
        self.requeue = NextReconcile::Never;
        if self.has_nothing_to_do(decisions.planted()) {
            if self.memory.failures > 0 {
                Arc::make_mut(&mut self.memory).failures = 0;
            }
            return None;
        }
        let set = self.views.set?;
        self.round(decisions, set, 0, settings)
    }

    /// Decides again, with the set that the reconcile started with.
    pub(crate) fn round(
        &mut self,
        decisions: &mut Decisions,
        set: SetObject,
        rounds: u8,
        settings: ModelSettings,
    ) -> Option<Arc<PlanDecision>> {
        if rounds >= ROUNDS {
            self.end(NextReconcile::Now);
            return None;
        }
        let mut claims = *self.views.claims;
        Arc::make_mut(&mut self.memory).overlay(&mut claims);
        let report = InstanceMemory::latest(&mut self.memory, self.views.report);
        let (decision, writes) = decisions.decide(&set, &claims, &self.views, &self.memory, report, settings);
        // Claims that are only counted are not watched afterwards.
        self.open = decision.rolls_out || !decision.settled;
        if !decision.rolls_out {
            // Claims are not read, so nothing is known about them.
            let memory = Arc::make_mut(&mut self.memory);
            (memory.written, memory.denials) = ([None; SLOTS], [None; SLOTS]);
        }
        let content = decision.content;
        let known = report.is_some_and(|report| report.set == set.uid && report.content == content);
        let mut queue = [None; REQUESTS];
        let begins = decision.begins && !known;
        let target = set.staged_change().map(|change| change.target);
        let first = begins.then_some(Write::Report {
            set: set.uid,
            content,
            target,
        });
        for (place, write) in queue.iter_mut().zip(first.into_iter().chain(writes)) {
            *place = Some(write);
        }
        self.reconcile = Some(Arc::new(Reconcile {
            set,
            queue,
            next: 0,
            acted: ModelRound::Nothing,
            rounds,
            reporting: false,
            failed: false,
            content,
            settled: decision.settled,
            requeue: decision.requeue,
        }));
        if queue[0].is_none() {
            self.report(known || decisions.silent);
        }
        Some(decision)
    }

    /// All requests of the last round are sent: reports, unless the report is known already.
    pub(crate) fn report(&mut self, known: bool) {
        if known {
            self.settle();
            return;
        }
        let Some(reconcile) = &mut self.reconcile else {
            return;
        };
        let reconcile = Arc::make_mut(reconcile);
        reconcile.queue = [None; REQUESTS];
        let target = reconcile.set.staged_change().map(|change| change.target);
        reconcile.queue[0] = Some(Write::Report {
            set: reconcile.set.uid,
            content: reconcile.content,
            target,
        });
        reconcile.next = 0;
        reconcile.reporting = true;
    }

    /// The reconcile succeeded, or a write of it had no answer.
    pub(crate) fn settle(&mut self) {
        if self.reconcile.as_ref().is_some_and(|reconcile| reconcile.failed) {
            self.fail();
            return;
        }
        let Some(reconcile) = self.reconcile.take() else {
            return;
        };
        let memory = Arc::make_mut(&mut self.memory);
        memory.failures = 0;
        if reconcile.settled {
            let report = memory.report.or(self.views.report);
            memory.settle(&reconcile.set, report.map_or(0, |report| report.version));
            self.open = false;
        }
        self.end(reconcile.requeue.map_or(NextReconcile::Never, NextReconcile::After));
    }

    /// The reconcile has ended. A change since its start is not lost.
    pub(crate) fn end(&mut self, requeue: NextReconcile) {
        self.reconcile = None;
        if self.requeue != NextReconcile::Now {
            self.requeue = requeue;
        }
    }

    /// A planted bug: nothing more is done before the set changes.
    pub(crate) fn give_up(&mut self) {
        if let Some(reconcile) = &mut self.reconcile {
            Arc::make_mut(reconcile).settled = true;
            Arc::make_mut(reconcile).requeue = None;
        }
        self.settle();
    }

    /// The reconcile failed: it is retried after an exponential backoff.
    pub(crate) fn fail(&mut self) {
        let memory = Arc::make_mut(&mut self.memory);
        memory.failures = memory.failures.saturating_add(1).min(10);
        let pause = 1_i16 << (memory.failures - 1).min(8);
        self.reconcile = None;
        // A change does not shorten the backoff.
        self.requeue = if self.requeue == NextReconcile::Now {
            NextReconcile::Now
        } else {
            NextReconcile::After(pause)
        };
    }
}
