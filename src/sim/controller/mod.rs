//! Our controller in the model: what `controller` does between the decision and the API server, step by step.
//!
//! The decision itself is the real one. What is modelled is the loop around it: one look works with the set as it was
//! seen when the look began; it decides, makes its requests one after the other, and looks again when it has learnt
//! something; at the end it reports.

pub(crate) mod memory;
pub(crate) mod requests;

use std::sync::Arc;

use super::api::{Api, Write};
use super::mind::{Decision, Mind};
use super::objects::{Age, SLOTS, Set};
use super::planted::Planted;
use super::watch::{Kind, Views};
use super::world::{OLDEST, grow, older};
use memory::Memory;

/// The most requests of one round: an apply for each claim, what is ready, the record, the report.
pub(crate) const REQUESTS: usize = 13;

/// How many times a look may go round.
const ROUNDS: u8 = 32;

/// One controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instance {
    pub(crate) alive: bool,
    pub(crate) views: Views,
    /// Claims and Pods are watched, because something is being rolled out.
    pub(crate) open: bool,
    pub(crate) memory: Arc<Memory>,
    pub(crate) reconcile: Option<Arc<Reconcile>>,
    pub(crate) requeue: Requeue,
}

/// When a set is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Requeue {
    /// Now.
    Now,
    /// After so many seconds, or when something changes.
    After(Age),
    /// When something changes.
    Never,
}

/// What came of the requests of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Acted {
    Nothing,
    Requeue,
    Overtaken,
}

/// A look that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reconcile {
    /// The set as it was seen when the look began.
    pub(crate) set: Set,
    pub(crate) queue: [Option<Write>; REQUESTS],
    pub(crate) next: u8,
    pub(crate) acted: Acted,
    pub(crate) rounds: u8,
    /// The requests are done: what is left is to report.
    pub(crate) reporting: bool,
    /// What is to be reported.
    pub(crate) says: u32,
    pub(crate) settled: bool,
    pub(crate) requeue: Option<Age>,
}

impl Reconcile {
    /// True iff the rollout is over once its requests are done.
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
            requeue: Requeue::Never,
        }
    }
}

impl Instance {
    /// A controller that has just listed everything.
    pub(crate) fn started(api: &Api) -> Self {
        Self {
            alive: true,
            views: Views::of(api),
            requeue: Requeue::Now,
            ..Self::default()
        }
    }

    /// A watch shows what is stored; true if that is anything new.
    pub(crate) fn hear(&mut self, api: &Api, kind: Kind, planted: Option<Planted>) -> bool {
        let news = self.views.deliver(api, kind);
        let concerns = match kind {
            Kind::Sets | Kind::Reports => true,
            Kind::Claims | Kind::Pods => self.open && planted != Some(Planted::Unobserved),
        };
        if news && concerns {
            self.requeue = Requeue::Now;
        }
        news
    }

    pub(crate) fn tick(&mut self, seconds: Age) {
        if let Requeue::After(left) = self.requeue {
            let left = left.saturating_sub(seconds);
            self.requeue = if left <= 0 { Requeue::Now } else { Requeue::After(left) };
        }
        older(&mut self.views.pods, &mut self.views.report, seconds);
        if let Some(report) = &mut Arc::make_mut(&mut self.memory).report {
            report.started = report.started.saturating_add(seconds).min(OLDEST);
        }
        self.jump(seconds);
    }

    /// The clock goes on, or back. Timers do not follow it.
    pub(crate) fn jump(&mut self, seconds: Age) -> bool {
        if self.memory.refusals.iter().all(Option::is_none) {
            return false;
        }
        for refusal in Arc::make_mut(&mut self.memory).refusals.iter_mut().flatten() {
            refusal.age = grow(refusal.age, seconds);
        }
        true
    }

    /// Nothing is left to do, or nothing is known of the set.
    pub(crate) fn has_nothing_to_do(&mut self) -> bool {
        let Some(set) = self.views.set else {
            self.memory = Arc::default();
            self.open = false;
            return true;
        };
        if self.memory.of != set.uid {
            self.memory = Arc::new(Memory {
                of: set.uid,
                ..Memory::default()
            });
        }
        let report = Memory::latest(&mut self.memory, self.views.report);
        if report.is_none() && set.staged_change().is_none() {
            self.memory = Arc::new(Memory {
                of: set.uid,
                ..Memory::default()
            });
            self.open = false;
            return true;
        }
        self.memory.settled == Some((set.version, report.map_or(0, |report| report.version)))
    }

    /// Begins a look; true if there was anything to look at.
    pub(crate) fn begin(&mut self, mind: &mut Mind, recover: bool) -> Option<Arc<Decision>> {
        if !self.alive || self.reconcile.is_some() || self.requeue != Requeue::Now {
            return None;
        }
        self.requeue = Requeue::Never;
        if self.has_nothing_to_do() {
            return None;
        }
        let set = self.views.set?;
        self.round(mind, set, 0, recover)
    }

    /// Decides anew, with the set as it was seen when the look began.
    pub(crate) fn round(&mut self, mind: &mut Mind, set: Set, rounds: u8, recover: bool) -> Option<Arc<Decision>> {
        if rounds >= ROUNDS {
            self.end(Requeue::Now);
            return None;
        }
        let mut claims = *self.views.claims;
        Arc::make_mut(&mut self.memory).bring_up(&mut claims);
        let report = Memory::latest(&mut self.memory, self.views.report);
        let (decision, writes) = mind.decide(&set, &claims, &self.views, &self.memory, report, recover);
        // Claims that are only counted are not watched once they are.
        self.open = decision.rolls_out || !decision.settled;
        if !decision.rolls_out {
            // Claims are not looked at, so nothing of them is known.
            let memory = Arc::make_mut(&mut self.memory);
            (memory.written, memory.refusals) = ([None; SLOTS], [None; SLOTS]);
        }
        let says = decision.says;
        let known = report.is_some_and(|report| report.set == set.uid && report.says == says);
        let mut queue = [None; REQUESTS];
        let begins = decision.begins && !known;
        let target = set.staged_change().map(|change| change.target);
        let first = begins.then_some(Write::Report {
            set: set.uid,
            says,
            target,
        });
        for (place, write) in queue.iter_mut().zip(first.into_iter().chain(writes)) {
            *place = Some(write);
        }
        self.reconcile = Some(Arc::new(Reconcile {
            set,
            queue,
            next: 0,
            acted: Acted::Nothing,
            rounds,
            reporting: false,
            says,
            settled: decision.settled,
            requeue: decision.requeue,
        }));
        if queue[0].is_none() {
            self.report(known || mind.silent);
        }
        Some(decision)
    }

    /// The requests of the last round are done: what is left is to report, if it is not known already.
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
            says: reconcile.says,
            target,
        });
        reconcile.next = 0;
        reconcile.reporting = true;
    }

    /// The look is over, and went well.
    pub(crate) fn settle(&mut self) {
        let Some(reconcile) = self.reconcile.take() else {
            return;
        };
        let memory = Arc::make_mut(&mut self.memory);
        memory.failures = 0;
        if reconcile.settled {
            let report = memory.report.or(self.views.report);
            memory.settle(reconcile.set.version, report.map_or(0, |report| report.version));
            self.open = false;
        }
        self.end(reconcile.requeue.map_or(Requeue::Never, Requeue::After));
    }

    /// The look is over. What came in the meantime is not forgotten.
    pub(crate) fn end(&mut self, requeue: Requeue) {
        self.reconcile = None;
        if self.requeue != Requeue::Now {
            self.requeue = requeue;
        }
    }

    /// Whatever is left to do, it is not done before the set changes: a planted bug.
    pub(crate) fn give_up(&mut self) {
        if let Some(reconcile) = &mut self.reconcile {
            Arc::make_mut(reconcile).settled = true;
            Arc::make_mut(reconcile).requeue = None;
        }
        self.settle();
    }

    /// The look failed: it is repeated after a pause that doubles.
    pub(crate) fn fail(&mut self) {
        let memory = Arc::make_mut(&mut self.memory);
        memory.failures = memory.failures.saturating_add(1).min(10);
        let pause = 1_i16 << (memory.failures - 1).min(8);
        self.reconcile = None;
        // A failure waits its turn, whatever has changed.
        self.requeue = if self.requeue == Requeue::Now {
            Requeue::Now
        } else {
            Requeue::After(pause)
        };
    }
}
