//! One thing that users do, and how it is run.

use super::inhabitants::people::Deed;
use super::judge;
use super::log::Log;
use super::mind::Mind;
use super::objects::{Target, Want};
use super::world::{Step, World};
use crate::rollout::invariants::{Broken, Ledger};

use When::{Now, Quiet, Written};

/// When something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Now.
    Now,
    /// When claims have been written so many times.
    Written(u8),
    /// When nothing moves any more.
    Quiet,
}

/// How a set begins, and what happens to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) replicas: u8,
    pub(crate) wants: &'static [Want],
    pub(crate) edit: fn(&mut World),
    pub(crate) script: &'static [(When, Deed)],
}

impl Workload {
    /// The set runs, and nothing is wished yet.
    ///
    /// # Errors
    /// [`Broken`] if that alone breaks a guarantee.
    pub(crate) fn start(&self, mind: &mut Mind, log: &mut Log) -> Result<World, Broken> {
        let mut world = World::new();
        world.manifest = (Target::of(self.wants), 0);
        world.step(Step::Deed(Deed::CreateSet(self.replicas)), mind, log)?;
        (self.edit)(&mut world);
        world.settle(mind, log)?;
        // Nobody sees any more how its claims came to be.
        world.ledger = Ledger::default();
        judge::observe(&mut world);
        log.begin();
        log.line(|| format!("{}: {}", self.name, super::log::state_words(&world.api)));
        Ok(world)
    }

    /// Runs it undisturbed: whatever happens, happens in its turn, and the fate of each request is asked for.
    ///
    /// # Errors
    /// [`Broken`] says which guarantee does not hold.
    pub(crate) fn run(&self, mind: &mut Mind, log: &mut Log) -> Result<World, Broken> {
        let mut world = self.start(mind, log)?;
        for (when, deed) in self.script {
            match when {
                Now => {}
                Quiet => world.settle(mind, log)?,
                Written(times) => {
                    for _ in 0..60 {
                        let written: u16 = log.writes[..super::objects::SLOTS].iter().sum();
                        if written >= u16::from(*times) {
                            break;
                        }
                        world.round(mind, log)?;
                        world.step(Step::Tick(1), mind, log)?;
                    }
                }
            }
            world.step(Step::Deed(*deed), mind, log)?;
        }
        world.end(mind, log)?;
        Ok(world)
    }
}
