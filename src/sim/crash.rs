//! Every fault at every request of every workload, judged by what the undisturbed run came to (Sieve's oracle).

use super::log::Log;
use super::mind::Mind;
use super::objects::{Claim, ORDINALS, SLOTS, SetSpec, place};
use super::workload::Workload;
use super::workloads::ALL;
use super::world::{Fate, World};

/// What a run came to: what is left, but for uids and versions, and how often each object was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    set: Option<SetSpec>,
    claims: [Option<Claim>; SLOTS],
    pods: [Option<(u8, bool)>; ORDINALS],
    /// Writes to claims, and of the record.
    writes: [u16; SLOTS + 1],
    /// Writes of what is ready: how many it takes depends on who comes first.
    ready_writes: u16,
    /// Requests, whatever became of them.
    pub(crate) requests: u32,
}

/// A point at which a fault made a difference.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) workload: &'static str,
    pub(crate) faults: Vec<(u32, Fate)>,
    pub(crate) why: String,
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tried {
    pub(crate) workloads: u32,
    pub(crate) points: u32,
}

/// Runs a workload with these faults, by the number of the request.
pub(crate) fn outcome(
    workload: &Workload,
    faults: &[(u32, Fate)],
    mind: &mut Mind,
    log: &mut Log,
) -> Result<Outcome, String> {
    log.faults = faults.to_vec();
    let world = workload.run(mind, log).map_err(|broken| broken.to_string())?;
    Ok(Outcome::of(&world, log))
}

/// Every fault at every request of every workload.
///
/// # Errors
/// [`Difference`], the first one.
pub(crate) fn every_point() -> Result<Tried, Box<Difference>> {
    let mut mind = Mind::default();
    let mut tried = Tried::default();
    for workload in ALL {
        tried.workloads += 1;
        tried.points += every_point_of(workload, &mut mind)?;
    }
    Ok(tried)
}

/// Every fault at every request of a workload; how many there were.
///
/// # Errors
/// [`Difference`], the first one.
pub(crate) fn every_point_of(workload: &'static Workload, mind: &mut Mind) -> Result<u32, Box<Difference>> {
    let expected = undisturbed(workload, mind)?;
    let mut tried = 0;
    for request in 0..expected.requests {
        for fate in Fate::FAULTS {
            expected.holds(workload, &[(request, fate)], mind)?;
            tried += 1;
        }
    }
    Ok(tried)
}

/// Every pair of faults at the requests of a workload.
///
/// # Errors
/// [`Difference`], the first one.
pub(crate) fn every_pair(workload: &'static Workload, mind: &mut Mind) -> Result<u32, Box<Difference>> {
    let expected = undisturbed(workload, mind)?;
    let mut tried = 0;
    for first in 0..expected.requests {
        for second in first + 1..expected.requests + 2 {
            for (one, other) in Fate::FAULTS
                .iter()
                .flat_map(|one| Fate::FAULTS.map(|other| (*one, other)))
            {
                expected.holds(workload, &[(first, one), (second, other)], mind)?;
                tried += 1;
            }
        }
    }
    Ok(tried)
}

fn undisturbed(workload: &'static Workload, mind: &mut Mind) -> Result<Outcome, Box<Difference>> {
    let outcome = outcome(workload, &[], mind, &mut Log::default());
    outcome.map_err(|why| {
        Box::new(Difference {
            workload: workload.name,
            faults: Vec::new(),
            why,
        })
    })
}

impl Difference {
    /// What happened, line by line.
    pub(crate) fn story(&self) -> String {
        let mut telling = Log::telling();
        if let Some(workload) = Workload::named(self.workload) {
            // What it comes to is known.
            let _ = outcome(workload, &self.faults, &mut Mind::default(), &mut telling);
        }
        let lines = telling.lines.unwrap_or_default().join("\n");
        format!("{lines}\n{} with {:?}: {}", self.workload, self.faults, self.why)
    }
}

impl Outcome {
    fn of(world: &World, log: &Log) -> Self {
        let api = &world.api;
        let mut claims = *api.claims;
        for claim in claims.iter_mut().flatten() {
            (claim.uid, claim.version) = (0, 0);
            // Who owns it is a uid.
            claim.owner = super::objects::Owner::Nobody;
        }
        let mut set = api.set.map(|set| set.spec);
        if let Some(spec) = &mut set {
            spec.ready = None;
            spec.staged.iter_mut().for_each(|change| change.uid = 0);
        }
        let mut writes = [0; SLOTS + 1];
        writes[..SLOTS].copy_from_slice(&log.writes[..SLOTS]);
        writes[SLOTS] = log.writes[SLOTS + 1];
        let pods = api.pods.map(|pod| pod.map(|pod| (pod.image, pod.ready.is_some())));
        Self {
            set,
            claims,
            pods,
            writes,
            ready_writes: log.writes[SLOTS],
            requests: log.requests,
        }
    }

    /// With these faults it comes to the same.
    fn holds(
        &self,
        workload: &'static Workload,
        faults: &[(u32, Fate)],
        mind: &mut Mind,
    ) -> Result<(), Box<Difference>> {
        let found = outcome(workload, faults, mind, &mut Log::default());
        let same = found.and_then(|found| self.compare(&found));
        same.map_err(|why| {
            Box::new(Difference {
                workload: workload.name,
                faults: faults.to_vec(),
                why,
            })
        })
    }

    /// What is left must be the same, and no object may have been written more often.
    fn compare(&self, found: &Self) -> Result<(), String> {
        if self.set != found.set {
            return Err(format!("expected the set {:?}, but found {:?}", self.set, found.set));
        }
        for slot in 0..SLOTS {
            let (template, ordinal) = place(slot);
            if self.claims[slot] != found.claims[slot] {
                let (expected, found) = (self.claims[slot], found.claims[slot]);
                return Err(format!(
                    "claim {template}/{ordinal}: expected {expected:?}, but found {found:?}"
                ));
            }
        }
        if self.pods != found.pods {
            return Err(format!("expected the Pods {:?}, but found {:?}", self.pods, found.pods));
        }
        let ready = self.ready_writes.max(self.writes[..SLOTS].iter().sum());
        if found.ready_writes > ready {
            return Err(format!(
                "expected at most {ready} writes of what is ready, but found {}",
                found.ready_writes
            ));
        }
        if self.writes != found.writes {
            return Err(format!(
                "expected the writes {:?}, but found {:?}",
                self.writes, found.writes
            ));
        }
        Ok(())
    }
}
