//! A workload: a list of user actions, and how it runs.

use super::actors::action::UserAction;
use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ModelTarget, SLOTS, Want};
use super::step::SimStep;
use super::words::state_words;
use super::world::SimWorld;
use crate::rollout::invariants::{Broken, Ledger};

use Moment::{Now, Quiet, Written};

/// The time of a user action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At once.
    Now,
    /// After so many writes to claims.
    Written(u8),
    /// When nothing changes any more.
    Quiet,
}

/// A set, and the user actions on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) replicas: u8,
    pub(crate) wants: &'static [Want],
    pub(crate) edit: fn(&mut SimWorld),
    pub(crate) script: &'static [(Moment, UserAction)],
}

impl Workload {
    /// Creates the set and lets it settle; nothing is staged.
    ///
    /// # Errors
    /// [`Broken`] if that alone breaks a guarantee.
    pub(crate) fn start(&self, decisions: &mut Decisions, log: &mut Log) -> Result<SimWorld, Broken> {
        let mut world = SimWorld::new();
        world.manifest = (ModelTarget::of(self.wants), 0);
        world.step(SimStep::User(UserAction::CreateSet(self.replicas)), decisions, log)?;
        (self.edit)(&mut world);
        world.settle(decisions, log)?;
        // The ledger starts after the creation of the claims.
        world.ledger = Ledger::default();
        world.update_ledger();
        log.begin();
        log.line(|| format!("{}: {}", self.name, state_words(&world.api)));
        Ok(world)
    }

    /// Runs the workload without a random schedule. The log determines the fate of each request.
    ///
    /// # Errors
    /// [`Broken`] names the guarantee that does not hold.
    pub(crate) fn run(&self, decisions: &mut Decisions, log: &mut Log) -> Result<SimWorld, Broken> {
        let mut world = self.start(decisions, log)?;
        for (when, action) in self.script {
            match when {
                Now => {}
                Quiet => world.settle(decisions, log)?,
                Written(times) => {
                    for _ in 0..60 {
                        let written: u16 = log.writes[..SLOTS].iter().sum();
                        if written >= u16::from(*times) {
                            break;
                        }
                        world.round(decisions, log)?;
                        world.step(SimStep::Tick(1), decisions, log)?;
                    }
                }
            }
            world.step(SimStep::User(*action), decisions, log)?;
        }
        world.end(decisions, log)?;
        Ok(world)
    }
}

/// One template of this size.
pub(crate) const fn one(size: u8) -> ModelTarget {
    ModelTarget {
        wants: [Want::size(size), Want::size(0)],
        templates: 1,
        staging: 0,
    }
}

/// Two templates of these sizes.
pub(crate) const fn two(first: u8, second: u8) -> ModelTarget {
    ModelTarget {
        wants: [Want::size(first), Want::size(second)],
        templates: 2,
        staging: 0,
    }
}

pub(crate) const fn with(size: u8, class: u8, tier: u8) -> ModelTarget {
    ModelTarget {
        wants: [
            Want {
                size,
                class,
                tier,
                storage_class: 0,
            },
            Want::size(0),
        ],
        templates: 1,
        staging: 0,
    }
}

pub(crate) const ONE: &[Want] = &[Want::size(1)];
pub(crate) const TWO: &[Want] = &[Want::size(1), Want::size(2)];

pub(crate) const fn workload(
    name: &'static str,
    replicas: u8,
    wants: &'static [Want],
    edit: fn(&mut SimWorld),
    script: &'static [(Moment, UserAction)],
) -> Workload {
    Workload {
        name,
        replicas,
        wants,
        edit,
        script,
    }
}

/// Three replicas of one template, in a usual cluster.
pub(crate) const fn of_three(name: &'static str, script: &'static [(Moment, UserAction)]) -> Workload {
    workload(name, 3, ONE, |_| {}, script)
}

pub(crate) fn node(world: &mut SimWorld) {
    world.driver.needs_node = true;
}

pub(crate) fn remount(world: &mut SimWorld) {
    (world.driver.needs_node, world.driver.needs_remount) = (true, true);
}

pub(crate) fn first_consumer(world: &mut SimWorld) {
    world.driver.first_consumer = true;
}

pub(crate) fn min_ready(world: &mut SimWorld) {
    world.api.edit_set(|set| set.spec.min_ready = 5);
}

pub(crate) fn canary(world: &mut SimWorld) {
    world.api.edit_set(|set| set.spec.partition = 1);
}

pub(crate) fn since_1_37(world: &mut SimWorld) {
    world.api.upgrade();
}

pub(crate) fn two_at_a_time(world: &mut SimWorld) {
    world.api.edit_set(|set| set.spec.in_motion = 2);
}

pub(crate) fn parallel(world: &mut SimWorld) {
    world.api.edit_set(|set| set.spec.parallel = true);
}

pub(crate) fn retention(world: &mut SimWorld) {
    world
        .api
        .edit_set(|set| (set.spec.when_scaled, set.spec.when_deleted) = (true, true));
}
