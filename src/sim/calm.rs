//! What happens when faults stop: everybody has their turn, again and again, until nothing changes any more.

use super::api::{Api, Meddles};
use super::inhabitants::people::Deed;
use super::inhabitants::storage::Resizing;
use super::log::Log;
use super::mind::Mind;
use super::objects::{ORDINALS, SLOTS};
use super::watch::Kind;
use super::world::{INSTANCES, Step, World};
use crate::rollout::invariants::{Broken, Rule, l1_reached, l5_stops_no_other, s13_backs_off, s13_says_once};

/// Longer than any pause.
const LONG: i16 = 301;
/// After so many rounds in which something changes, nothing ever comes to rest.
const ROUNDS: usize = 400;

impl World {
    /// Everybody has their turn, until nothing changes for a quarter of an hour.
    ///
    /// # Errors
    /// [`Broken`] if a guarantee does not hold on the way, or nothing ever comes to rest.
    pub(crate) fn settle(&mut self, mind: &mut Mind, log: &mut Log) -> Result<(), Broken> {
        // It was denied a moment ago. What is forgotten comes to light, and not only a quarter of an hour later.
        if let Some(asleep) = &mut self.api.asleep {
            asleep.age = 0;
        }
        let mut quiet = 0;
        for _ in 0..ROUNDS {
            let (before, reports) = (self.api.last_version, log.reports());
            let events = self.round(mind, log)?;
            let written = self.api.last_version - before;
            let moved = if self.may_tell_different_things() {
                written > log.reports() - reports
            } else {
                events || written > 0
            };
            if moved {
                quiet = 0;
                self.step(Step::Tick(1), mind, log)?;
                continue;
            }
            quiet += 1;
            if quiet == 4 && self.is_forgotten(mind) && (log.doubtful || log.crossed) {
                // Whoever read an older view has written what is older: it is the StatefulSet controller that tries again.
                quiet = 0;
                self.step(Step::Retry, mind, log)?;
                continue;
            }
            if quiet == 4 {
                return self.nobody_is_forgotten(mind);
            }
            self.step(Step::Tick(LONG), mind, log)?;
        }
        let why = format!("nothing has come to rest after {ROUNDS} rounds");
        Err(Broken { rule: Rule::L1, why })
    }

    /// L1: the StatefulSet controller does not sleep on when a Pod need not wait any more.
    fn nobody_is_forgotten(&self, mind: &mut Mind) -> Result<(), Broken> {
        match self.api.asleep.filter(|_| self.is_forgotten(mind)) {
            Some(asleep) => {
                let why = format!("the claims of Pod {} are ready, and nobody has said so", asleep.ordinal);
                Err(Broken { rule: Rule::L1, why })
            }
            None => Ok(()),
        }
    }

    /// The StatefulSet controller sleeps on, and would be let delete the Pod.
    fn is_forgotten(&self, mind: &mut Mind) -> bool {
        let asleep = self.api.asleep.filter(|_| self.api.policy);
        asleep.is_some_and(|asleep| !mind.keeps(&self.api, asleep.ordinal.into()))
    }

    /// One of two controllers, or each, remembers a refusal of what is still to be written. They may tell different things of
    /// it, and do so in turns.
    fn may_tell_different_things(&self) -> bool {
        let Some(set) = self.api.set.filter(|set| !set.spec.paused) else {
            return false;
        };
        let from = if set.spec.on_delete {
            0
        } else {
            usize::from(set.spec.partition)
        };
        let refused = |slot: usize| self.instances.iter().any(|one| one.memory.refusals[slot].is_some());
        let mut slots = (0..SLOTS).filter(|slot| super::objects::place(*slot).1 >= from);
        self.instances[1].alive && slots.any(refused)
    }

    /// One turn for everybody; true if a controller was shown anything.
    pub(crate) fn round(&mut self, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let mut events = false;
        for who in 0..INSTANCES {
            events |= self.turn(u8::try_from(who).unwrap_or(0), mind, log)?;
        }
        for step in inhabitants() {
            self.step(step, mind, log)?;
        }
        Ok(events)
    }

    /// A controller is shown everything, and looks.
    fn turn(&mut self, who: u8, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let mut events = false;
        for kind in Kind::ALL {
            events |= self.step(Step::Deliver(who, kind), mind, log)?;
        }
        self.step(Step::Reconcile(who), mind, log)?;
        let mut sent = 0;
        while self.step(Step::Send(who, log.fate()), mind, log)? {
            sent += 1;
            if sent > 100 {
                return Err(Broken {
                    rule: Rule::S13,
                    why: "a look that makes a hundred requests".to_owned(),
                });
            }
        }
        Ok(events)
    }

    /// Takes away what was in the way, without a change of what is wished; true if anything was.
    fn heal(&mut self, mind: &mut Mind, log: &mut Log) -> Result<bool, Broken> {
        let mut deeds = vec![
            Deed::Limit(u8::MAX),
            Deed::BadClass(0),
            Deed::Quota(u8::MAX),
            Deed::Expandable(true),
            Deed::Registered(true),
            Deed::Meddle(Meddles::No),
            Deed::Sibling(false),
            Deed::Owned(false),
        ];
        for slot in (0..SLOTS).filter_map(|slot| u8::try_from(slot).ok()) {
            deeds.extend([Deed::Select(slot, true), Deed::Mount(slot, false)]);
            if self.api.claims[usize::from(slot)].is_some_and(|claim| claim.owner == super::objects::Owner::Stranger) {
                deeds.push(Deed::Own(slot, false));
            }
        }
        // A claim that somebody deletes stays until somebody deletes the Pod that uses it.
        let dying = |slot: &usize| self.api.claims[*slot].is_some_and(|claim| claim.terminating);
        let ordinals = (0..SLOTS).filter(dying).map(|slot| super::objects::place(slot).1);
        deeds.extend(
            ordinals
                .filter_map(|ordinal| u8::try_from(ordinal).ok())
                .map(Deed::DeletePod),
        );
        deeds.extend((0..ORDINALS).flat_map(|ordinal| self.first_aid(ordinal)));
        let mut healed = false;
        for deed in deeds {
            healed |= self.step(Step::Deed(deed), mind, log)?;
        }
        // Claims of a rollout that is complete are not watched: what somebody does to them is seen when the set changes.
        if self
            .api
            .set
            .is_some_and(|set| set.staged_change().is_some_and(|change| change.complete))
        {
            touch(&mut self.api);
        }
        Ok(healed)
    }

    /// What a person has to do for a Pod: only where a growth of its claims will not do, or waits for the Pod by design.
    fn first_aid(&self, ordinal: usize) -> Option<Deed> {
        let (pod, set) = (self.api.pods[ordinal]?, self.api.set?);
        let ordinal_byte = u8::try_from(ordinal).ok()?;
        let target = super::judge::target_in_force(&set, self.recover);
        let stays = ordinal < usize::from(set.spec.partition) || set.spec.paused || set.spec.on_delete;
        let claim = self.api.claims[ordinal]?;
        // A claim that has grown and is full all the same.
        if pod.full > 0 && (stays || target.is_none() || claim.revision == target) {
            return Some(Deed::FreeDisk(ordinal_byte));
        }
        let slots = (0..SLOTS).filter(|slot| super::objects::place(*slot).1 == ordinal);
        let mut claims = slots.filter_map(|slot| self.api.claims[slot]);
        let waits = claims.any(|claim| claim.resize == super::objects::Resize::Node);
        let replaced = pod.image != set.spec.image;
        (waits && !replaced).then_some(Deed::DeletePod(ordinal_byte))
    }

    /// Faults have stopped: the rest of the guarantees, from wherever it is.
    ///
    /// # Errors
    /// [`Broken`] says which does not hold.
    pub(crate) fn end(&mut self, mind: &mut Mind, log: &mut Log) -> Result<(), Broken> {
        log.line(|| "-- faults have stopped".to_owned());
        self.settle(mind, log)?;
        self.blocks_quietly(log)?;
        l5_stops_no_other(&self.facts().scene())?;
        for time in 0..=ORDINALS {
            log.line(|| "-- what was in the way is gone".to_owned());
            // What is still waited for then, nobody would bring.
            let healed = self.heal(mind, log)?;
            if !healed && time > 0 {
                break;
            }
            self.settle(mind, log)?;
            if l1_reached(&self.facts().scene()).is_ok() {
                break;
            }
        }
        let writes = log.writes;
        l1_reached(&self.facts().scene())?;
        self.says_so(mind)?;
        // And it stays.
        self.settle(mind, log)?;
        if log.writes[..SLOTS + 2] != writes[..SLOTS + 2] {
            let why = "wrote again after the wish was reached".to_owned();
            return Err(Broken { rule: Rule::L1, why });
        }
        self.blocks_quietly(log)
    }

    /// What is refused is tried again after a pause, and told once.
    fn blocks_quietly(&self, log: &Log) -> Result<(), Broken> {
        // Two controllers do not know of each other, and one that reads an older view does not know of itself.
        if self.instances[1].alive || log.doubtful {
            return Ok(());
        }
        s13_backs_off(&log.attempts)?;
        s13_says_once(&log.events)
    }

    /// The ClaimRollout says that the wish is reached when it is.
    fn says_so(&self, mind: &Mind) -> Result<(), Broken> {
        let Some(set) = self.api.set else {
            return Ok(());
        };
        let complete = super::judge::target_in_force(&set, self.recover).is_some()
            && set.staged_change().is_some_and(|change| change.complete)
            && !set.spec.paused
            && !set.spec.on_delete
            && set.spec.partition == 0
            && !mind.silent;
        let says = self.api.report.map_or("nothing", |report| mind.words(report.says));
        if complete && !says.starts_with("Complete") {
            let why = format!("the wish is reached, and the ClaimRollout says {says}");
            return Err(Broken { rule: Rule::L1, why });
        }
        Ok(())
    }
}

/// Something about the set changes that nobody here reads.
fn touch(api: &mut Api) {
    let version = api.version();
    if let Some(set) = &mut api.set {
        set.version = version;
    }
}

/// A turn for everybody but the controllers.
fn inhabitants() -> impl Iterator<Item = Step> {
    let byte = |number: usize| u8::try_from(number).unwrap_or(0);
    let kubelets = (0..ORDINALS).map(move |ordinal| Step::Kubelet(byte(ordinal)));
    let volumes = (0..SLOTS).flat_map(move |slot| {
        [
            Step::Provision(byte(slot)),
            Step::Resize(byte(slot), Resizing::Begin),
            Step::Resize(byte(slot), Resizing::Finish),
        ]
    });
    [Step::Sync, Step::Sync, Step::Observe, Step::Collect]
        .into_iter()
        .chain(kubelets)
        .chain(volumes)
}
