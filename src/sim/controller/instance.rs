//! One controller, and the reconcile in progress.

use std::sync::Arc;

use super::memory::InstanceMemory;
use crate::api::Seconds;
use crate::rollout::Refusal;
use crate::rollout::invariants::{Broken, s13_repeats_failures};
use crate::rollout::machine::{AFTER_CONFLICT, Machine, ReconcileEnd};
use crate::sim::api::Api;
use crate::sim::clock::{CLOCK, advance};
use crate::sim::objects::{Age, OLDEST, SetObject};
use crate::sim::planted::Planted;
use crate::sim::watch::{Views, WatchKind};
use crate::sim::write::Write;

/// The most requests of one round: an apply for each claim, `ready`, the staged change, the report.
pub(crate) const REQUESTS: usize = 13;

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

/// A reconcile in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reconcile {
    /// The set when the reconcile started.
    pub(crate) set: SetObject,
    pub(crate) machine: Machine<()>,
    /// The writes of the last decision that were not sent.
    pub(crate) queue: [Option<Write>; REQUESTS],
    /// The next request.
    pub(crate) sending: Option<Write>,
    /// The number of the report.
    pub(crate) content: u32,
}

impl Reconcile {
    /// A reconcile of the set that has not decided yet.
    fn of(set: SetObject) -> Self {
        Self {
            set,
            machine: Machine::default(),
            queue: [None; REQUESTS],
            sending: None,
            content: 0,
        }
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

    pub(crate) fn tick(&mut self, seconds: Age, planted: Option<Planted>) {
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
        if self.memory.known.rollout.is_some()
            && let Some(report) = &mut Arc::make_mut(&mut self.memory).known.rollout
        {
            report.started = report.started.saturating_add(seconds).min(OLDEST);
        }
        self.jump(seconds, planted);
    }

    /// The clock jumps. Timers do not follow it.
    pub(crate) fn jump(&mut self, seconds: Age, planted: Option<Planted>) -> bool {
        InstanceMemory::pass(&mut self.memory, seconds, planted)
    }

    /// The set that is to be reconciled: none if nothing is left to do, or the set is unknown.
    fn has_something_to_do(&mut self, planted: Option<Planted>) -> Option<SetObject> {
        let Some(set) = self.views.set else {
            self.memory = Arc::default();
            self.open = false;
            return None;
        };
        if self.memory.of != set.uid {
            self.memory = Arc::new(InstanceMemory::of(set.uid));
        }
        let report = InstanceMemory::latest(&mut self.memory, self.views.report);
        if report.is_none() && set.staged_change().or(set.unreadable()).is_none() {
            self.memory = Arc::new(InstanceMemory::of(set.uid));
            self.open = false;
            return None;
        }
        let basis = || InstanceMemory::basis(&set, report, planted);
        let known = &self.memory.known;
        let rests = known.rests(Some(&set.version), basis, CLOCK);
        let rests = rests.or(planted.and_then(|planted| planted.rests(&self.memory)));
        // The next check of a settled set is an event of its own.
        if let Some(rests) = rests.filter(|_| known.ended.is_some()) {
            self.requeue = after(Some(rests));
        }
        rests.is_none().then_some(set)
    }

    /// Every few hours, a set that is settled is reconciled again: its claims are not watched.
    pub(crate) fn check_again(&mut self) {
        if self.alive && self.memory.known.settled.is_some() {
            Arc::make_mut(&mut self.memory).known.settled = None;
            self.requeue = NextReconcile::Now;
        }
    }

    /// Starts a reconcile, if one is due. Returns whether it has something to do.
    pub(crate) fn begin(&mut self, planted: Option<Planted>) -> bool {
        if !self.alive || self.reconcile.is_some() || self.requeue != NextReconcile::Now {
            return false;
        }
        self.requeue = NextReconcile::Never;
        let Some(set) = self.has_something_to_do(planted) else {
            self.succeed(planted);
            return false;
        };
        self.reconcile = Some(Arc::new(Reconcile::of(set)));
        true
    }

    fn succeed(&mut self, planted: Option<Planted>) {
        if (self.memory.known.failures, self.memory.failed) != (0, 0) {
            let memory = Arc::make_mut(&mut self.memory);
            memory.failed = 0;
            if planted != Some(Planted::FailuresStay) {
                memory.known.succeeded();
            }
        }
    }

    /// The reconcile has ended. A change since its start is not lost.
    ///
    /// # Errors
    /// [`Broken`] if it failed, and is repeated too early or too late.
    pub(crate) fn end(&mut self, end: ReconcileEnd<()>, planted: Option<Planted>) -> Result<(), Broken> {
        let Some(reconcile) = self.reconcile.take() else {
            return Ok(());
        };
        let settles = reconcile.machine.settles();
        let end = planted.map_or(end, |planted| planted.ends(end, settles));
        if end == ReconcileEnd::Failed(()) {
            return self.fail(planted);
        }
        self.succeed(planted);
        let requeue = match end {
            ReconcileEnd::Complete => {
                let memory = Arc::make_mut(&mut self.memory);
                let rests = memory.known.end(reconcile.set.version, CLOCK);
                if planted == Some(Planted::ForgetsCompletion) {
                    memory.known.ended = None;
                }
                after(Some(rests))
            }
            ReconcileEnd::Overtaken => after(Some(AFTER_CONFLICT)),
            ReconcileEnd::Unfinished => NextReconcile::Now,
            ReconcileEnd::Rests { settles, requeue } => {
                if settles {
                    let report = InstanceMemory::latest(&mut self.memory, self.views.report);
                    let set = planted.map_or(reconcile.set, |planted| planted.settles(reconcile.set));
                    let basis = InstanceMemory::basis(&set, report, planted);
                    Arc::make_mut(&mut self.memory).settle(basis);
                    self.open = false;
                }
                after(requeue)
            }
            ReconcileEnd::Stopped | ReconcileEnd::Failed(()) => NextReconcile::Never,
        };
        self.wait(requeue);
        Ok(())
    }

    /// The reconcile has failed, and is repeated after a pause.
    fn fail(&mut self, planted: Option<Planted>) -> Result<(), Broken> {
        let memory = Arc::make_mut(&mut self.memory);
        memory.failed = memory.failed.saturating_add(1).min(10);
        if planted == Some(Planted::FailurePauseStays) {
            memory.known.failures = 0;
        }
        let pause = memory.known.failed(0);
        // More make no difference.
        memory.known.failures = memory.known.failures.min(u32::from(Refusal::UNANSWERED) + 4);
        let judged = s13_repeats_failures(memory.failed, pause);
        self.wait(after(Some(pause)));
        judged
    }

    /// A change that was seen meanwhile is reconciled at once.
    fn wait(&mut self, requeue: NextReconcile) {
        if self.requeue != NextReconcile::Now {
            self.requeue = requeue;
        }
    }
}

fn after(seconds: Option<Seconds>) -> NextReconcile {
    seconds.map_or(NextReconcile::Never, |seconds| {
        NextReconcile::After(Age::try_from(seconds).unwrap_or(Age::MAX))
    })
}
