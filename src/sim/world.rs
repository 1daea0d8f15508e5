//! The whole model: what is stored, who lives there, and what may happen next.

use std::sync::Arc;

use super::api::Api;
use super::controller::Instance;
use super::inhabitants::people::Deed;
use super::inhabitants::storage::{Driver, Resizing};
use super::inhabitants::{kubelet, people, statefulset, storage};
use super::judge;
use super::log::Log;
use super::mind::Mind;
use super::objects::{Age, Pods, Report, StagedChange, Target};
use super::watch::{Kind, Views};
use crate::rollout::invariants::{Broken, Ledger};

/// How many controllers may be at work at once.
pub(crate) const INSTANCES: usize = 2;

/// Everything there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) instances: [Instance; INSTANCES],
    /// What an API server shows that does not follow any more.
    pub(crate) past: Option<Arc<Views>>,
    pub(crate) driver: Driver,
    /// What is in the user's repository: templates and image.
    pub(crate) manifest: (Target, u8),
    /// `shrink: Recover`, in the policy and in the controller.
    pub(crate) recover: bool,
    pub(crate) ledger: Ledger,
    /// A record that somebody copied.
    pub(crate) copied: Option<StagedChange>,
}

/// Something that happens. Where it cannot, nothing does, so that any part of a list of steps can be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A watch shows a controller what is stored now.
    Deliver(u8, Kind),
    /// A controller begins to look.
    Reconcile(u8),
    /// A controller makes its next request.
    Send(u8, Fate),
    /// A controller ends, and begins anew: nothing is remembered, everything is listed.
    Crash(u8),
    /// Another controller is started.
    Start,
    /// One of the API servers stops following.
    Freeze,
    /// A controller reads from that one.
    TimeTravel(u8),
    /// The StatefulSet controller looks at Pods and claims: one write.
    Sync,
    /// The StatefulSet controller writes what it has observed.
    Observe,
    /// A pause of the StatefulSet controller is over.
    Retry,
    /// The kubelet does something for the Pod of an ordinal.
    Kubelet(u8),
    /// A volume is made for the claim in a slot.
    Provision(u8),
    /// The resizer does something for the claim in a slot.
    Resize(u8, Resizing),
    /// The garbage collector deletes one thing whose owner is gone.
    Collect,
    /// Time goes by.
    Tick(Age),
    /// The clock of a controller jumps.
    Clock(u8, Age),
    /// Somebody does something.
    Deed(Deed),
}

/// What becomes of a request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// It is answered.
    Answered,
    /// It is done, and the answer is lost.
    ReplyLost,
    /// It is not done, and there is no answer: time-out, 429, 5xx, a reset.
    NeverSent,
    /// 409, for another reason than the object.
    Conflict,
    /// 403 or 422: a webhook, the controller's own rights.
    Refused,
    /// 404
    NotFound,
    /// The controller ends before the request.
    CrashBefore,
    /// The controller ends after the request was done.
    CrashAfter,
}

impl Fate {
    /// Every fate but the usual one.
    pub(crate) const FAULTS: [Self; 7] = [
        Self::ReplyLost,
        Self::NeverSent,
        Self::Conflict,
        Self::Refused,
        Self::NotFound,
        Self::CrashBefore,
        Self::CrashAfter,
    ];
}

impl World {
    /// An empty cluster with one controller.
    pub(crate) fn new() -> Self {
        let first = Instance {
            alive: true,
            ..Instance::default()
        };
        Self {
            api: Api::new(),
            instances: [first, Instance::default()],
            past: None,
            driver: Driver::default(),
            manifest: (Target::default(), 0),
            recover: false,
            ledger: Ledger::default(),
            copied: None,
        }
    }

    /// Does a step; true if anything came of it.
    ///
    /// # Errors
    /// [`Broken`] if a guarantee does not hold afterwards.
    pub(crate) fn step(&mut self, step: Step, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let happened = match step {
            Step::Deliver(who, kind) => self.deliver(who, kind, mind),
            Step::Reconcile(who) => self.reconcile(who, mind, log)?,
            Step::Send(who, fate) => return self.send(who, fate, mind, log),
            Step::Crash(who) => self.restart(who),
            Step::Start => !self.instances[1].alive && self.restart(1),
            Step::Freeze => self.freeze(),
            Step::TimeTravel(who) => self.travel(who),
            Step::Sync => self.sync(mind, log)?,
            Step::Observe => self.observe()?,
            Step::Retry => self.api.asleep.take().is_some(),
            Step::Kubelet(ordinal) => kubelet::step(&mut self.api, &self.driver, usize::from(ordinal)),
            Step::Provision(slot) => storage::provision(&mut self.api, &self.driver, usize::from(slot)),
            Step::Resize(slot, how) => storage::resize(&mut self.api, &self.driver, usize::from(slot), how),
            Step::Collect => statefulset::collect(&mut self.api),
            Step::Tick(seconds) => self.tick(seconds, log),
            Step::Clock(who, seconds) => self.instances[usize::from(who)].jump(seconds),
            Step::Deed(deed) => people::act(self, deed, mind, log),
        };
        if happened {
            judge::observe(self);
            log.stepped(step);
        }
        Ok(happened)
    }

    fn deliver(&mut self, who: u8, kind: Kind, mind: &Mind) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        instance.alive && instance.hear(&self.api, kind, mind.planted())
    }

    fn sync(&mut self, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let before = self.api.clone();
        mind.cache(&self.instances[0].views);
        let happened = statefulset::sync(&mut self.api, mind);
        if let Some(asleep) = self.api.asleep.filter(|_| happened) {
            log.line(|| format!("    denied: Pod {} waits", asleep.ordinal));
        }
        judge::gate(&before, &self.api)?;
        Ok(happened)
    }

    fn observe(&mut self) -> Result<bool, Broken> {
        let happened = statefulset::observe(&mut self.api);
        judge::tools(&self.api)?;
        Ok(happened)
    }

    fn restart(&mut self, who: u8) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        *instance = Instance::started(&self.api);
        true
    }

    fn freeze(&mut self) -> bool {
        self.past = Some(Arc::new(Views::of(&self.api)));
        true
    }

    /// A new connection, to an API server that is behind. Memory is kept.
    fn travel(&mut self, who: u8) -> bool {
        let instance = &mut self.instances[usize::from(who)];
        match &self.past {
            Some(past) if instance.alive && instance.views != **past => {
                instance.views = (**past).clone();
                instance.requeue = super::controller::Requeue::Now;
                true
            }
            _ => false,
        }
    }

    fn tick(&mut self, seconds: Age, log: &mut Log) -> bool {
        log.now += u64::from(seconds.unsigned_abs());
        self.api.sleep_on(seconds);
        // Nobody writes when time goes by: what was seen grows older with what is.
        older(&mut self.api.pods, &mut self.api.report, seconds);
        if let Some(past) = &mut self.past {
            let past = Arc::make_mut(past);
            older(&mut past.pods, &mut past.report, seconds);
        }
        for instance in &mut self.instances {
            instance.tick(seconds);
        }
        true
    }
}

/// Pods and a report after so many seconds.
pub(crate) fn older(pods: &mut Pods, report: &mut Option<Report>, seconds: Age) {
    for pod in Arc::make_mut(pods).iter_mut().flatten() {
        pod.ready = pod.ready.map(|age| grow(age, seconds));
        pod.age = pod.age.saturating_add(seconds).min(OLDEST);
    }
    if let Some(report) = report {
        report.started = report.started.saturating_add(seconds).min(OLDEST);
    }
}

/// What is older is as old as this.
pub(crate) const OLDEST: Age = 32_000;

/// An age after so many seconds.
pub(crate) fn grow(age: Age, seconds: Age) -> Age {
    age.saturating_add(seconds).clamp(-4000, 4000)
}
