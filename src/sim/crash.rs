//! Every fault at every request of every workload, compared with the undisturbed run (Sieve's oracle).

use super::decisions::Decisions;
use super::log::Log;
use super::objects::{ClaimObject, ClaimOwner, ORDINALS, SLOTS, SetObjectSpec, place};
use super::step::RequestFate;
use super::workload::Workload;
use super::world::SimWorld;

/// The outcome of a run: the objects without uids and versions, and the number of writes to each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunOutcome {
    set: Option<SetObjectSpec>,
    claims: [Option<ClaimObject>; SLOTS],
    pods: [Option<(u8, bool)>; ORDINALS],
    /// Writes to claims, and of the staged change.
    writes: [u16; SLOTS + 1],
    /// Writes of `ready`: their number depends on which controller comes first.
    ready_writes: u16,
    /// Requests, including those that failed.
    pub(crate) requests: u32,
}

/// Faults that changed the outcome.
#[derive(Clone, Debug)]
pub(crate) struct RunDifference {
    pub(crate) workload: &'static str,
    pub(crate) faults: Vec<(u32, RequestFate)>,
    pub(crate) why: String,
}

/// Runs a workload with these faults, keyed by the number of the request.
pub(crate) fn outcome(
    workload: &Workload,
    faults: &[(u32, RequestFate)],
    decisions: &mut Decisions,
    log: &mut Log,
) -> Result<RunOutcome, String> {
    log.faults = faults.to_vec();
    let world = workload.run(decisions, log).map_err(|broken| broken.to_string())?;
    Ok(RunOutcome::of(&world, log))
}

/// Every fault at every request of a workload; returns their number.
///
/// # Errors
/// The first [`RunDifference`].
pub(crate) fn every_point(workload: &'static Workload, decisions: &mut Decisions) -> Result<u32, Box<RunDifference>> {
    let expected = undisturbed(workload, decisions)?;
    let mut tried = 0;
    for fault in single_faults(expected.requests) {
        expected.holds(workload, &[fault], decisions)?;
        tried += 1;
    }
    Ok(tried)
}

/// Every fault at each of so many requests.
pub(crate) fn single_faults(requests: u32) -> impl Iterator<Item = (u32, RequestFate)> {
    (0..requests).flat_map(|request| RequestFate::FAULTS.map(|fate| (request, fate)))
}

/// Every pair of faults at the requests of a workload.
///
/// # Errors
/// The first [`RunDifference`].
pub(crate) fn every_pair(workload: &'static Workload, decisions: &mut Decisions) -> Result<u32, Box<RunDifference>> {
    let expected = undisturbed(workload, decisions)?;
    let mut tried = 0;
    for first in 0..expected.requests {
        for second in first + 1..expected.requests + 2 {
            for (one, other) in RequestFate::FAULTS
                .iter()
                .flat_map(|one| RequestFate::FAULTS.map(|other| (*one, other)))
            {
                expected.holds(workload, &[(first, one), (second, other)], decisions)?;
                tried += 1;
            }
        }
    }
    Ok(tried)
}

fn undisturbed(workload: &'static Workload, decisions: &mut Decisions) -> Result<RunOutcome, Box<RunDifference>> {
    let outcome = outcome(workload, &[], decisions, &mut Log::default());
    outcome.map_err(|why| {
        Box::new(RunDifference {
            workload: workload.name,
            faults: Vec::new(),
            why,
        })
    })
}

impl RunDifference {
    /// The trace of the run with these faults.
    pub(crate) fn trace(&self) -> String {
        let mut tracing = Log::tracing();
        if let Some(workload) = Workload::named(self.workload) {
            // The outcome is known.
            let _ = outcome(workload, &self.faults, &mut Decisions::default(), &mut tracing);
        }
        let lines = tracing.lines.unwrap_or_default().join("\n");
        format!("{lines}\n{} with {:?}: {}", self.workload, self.faults, self.why)
    }
}

impl RunOutcome {
    fn of(world: &SimWorld, log: &Log) -> Self {
        let api = &world.api;
        let mut claims = *api.claims;
        for claim in claims.iter_mut().flatten() {
            (claim.uid, claim.version) = (0, 0);
            // The owner is a uid.
            claim.owner = ClaimOwner::None;
        }
        let mut set = api.set.map(|set| set.spec);
        if let Some(spec) = &mut set {
            spec.ready = None;
            // The replicas follow a phase that was taken back, which may be left out.
            let staged = spec.staged.iter_mut();
            staged.for_each(|change| (change.uid, change.replicas) = (0, 0));
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

    /// Fails if the outcome with these faults differs.
    fn holds(
        &self,
        workload: &'static Workload,
        faults: &[(u32, RequestFate)],
        decisions: &mut Decisions,
    ) -> Result<(), Box<RunDifference>> {
        let found = outcome(workload, faults, decisions, &mut Log::default());
        let same = found.and_then(|found| self.compare(&found));
        same.map_err(|why| {
            Box::new(RunDifference {
                workload: workload.name,
                faults: faults.to_vec(),
                why,
            })
        })
    }

    /// The objects must be equal, and no object may be written more often.
    fn compare(&self, found: &Self) -> Result<(), String> {
        if self.set != found.set {
            return Err(format!(
                "expected the StatefulSet {:?}, but found {:?}",
                self.set, found.set
            ));
        }
        for slot in 0..SLOTS {
            let (template, ordinal) = place(slot);
            if self.claims[slot] != found.claims[slot] {
                let (expected, found) = (self.claims[slot], found.claims[slot]);
                return Err(format!(
                    "PVC {template}/{ordinal}: expected {expected:?}, but found {found:?}"
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
        // A phase that is taken back for a moment may be left out: the PVC was ready when the controller was back.
        let (claims, set) = (&self.writes[..SLOTS], self.writes[SLOTS]);
        if found.writes[..SLOTS] != *claims || found.writes[SLOTS] > set {
            return Err(format!(
                "expected the writes {:?}, but found {:?}",
                self.writes, found.writes
            ));
        }
        Ok(())
    }
}
