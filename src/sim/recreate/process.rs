//! A controller of ours: the machine and the memory of the product, about the objects of the model.

use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::decision::{AnewDecisions, KnownFaults};
use super::objects::{AnewClaim, AnewObjects, AnewStep, MadeFrom};
use super::world::AnewWorld;
use crate::api::Seconds;
use crate::rollout::invariants::Broken;
use crate::rollout::machine::{
    AttemptedWrite, Kinds, Machine, ReconcileEnd, ReportWrite, RetriedWrite, RolloutTask, SetMemory, WriteReply,
};

/// The objects of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OfAnew;

/// A PVC, and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexedClaim {
    pub(super) index: usize,
    pub(super) claim: AnewClaim,
}

impl Kinds for OfAnew {
    type Uid = (usize, u8);
    type Version = u8;
    type Write = AnewStep;
    type Label = u8;
    type Cause = ();
    type Claim = IndexedClaim;
    type Report = ();
    type ReportUid = ();
    type Basis = ();

    fn uid(claim: &IndexedClaim) -> (usize, u8) {
        (claim.index, claim.claim.number)
    }

    fn version(claim: &IndexedClaim) -> u8 {
        claim.claim.version
    }

    fn has_label(claim: &IndexedClaim, label: &u8) -> bool {
        claim.claim.from == MadeFrom::Desired(*label)
    }

    fn is_older(seen: &u8, written: &u8) -> bool {
        seen < written
    }

    fn report_uid((): &()) -> Option<()> {
        Some(())
    }

    fn report_version((): &()) -> u8 {
        0
    }

    fn changed_by_others() {}

    fn not_answered() {}
}

/// A controller of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnewProcess {
    /// What its watches have shown.
    pub(super) seen: AnewObjects,
    memory: Arc<SetMemory<OfAnew>>,
    reconcile: Option<AnewReconcile>,
}

/// Our controllers. Two states are the same if they differ only in which controller is which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnewProcesses(pub(super) [Option<AnewProcess>; 2]);

impl Hash for AnewProcesses {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut hashes = self.0.each_ref().map(|process| FxBuildHasher.hash_one(process));
        hashes.sort_unstable();
        hashes.hash(hasher);
    }
}

/// A reconcile in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct AnewReconcile {
    machine: Machine<()>,
    /// The writes of the last decision.
    steps: Arc<[AnewStep]>,
    /// The next request.
    sending: Option<AnewStep>,
}

impl AnewProcess {
    /// It has just listed everything.
    pub(super) fn started(seen: AnewObjects) -> Self {
        Self {
            seen,
            memory: Arc::default(),
            reconcile: None,
        }
    }

    /// The next request.
    pub(super) fn sending(&self) -> Option<AnewStep> {
        self.reconcile.as_ref()?.sending
    }

    /// Starts a reconcile.
    pub(super) fn begin(&mut self, world: &AnewWorld, decisions: &mut AnewDecisions) -> Result<(), Broken> {
        self.reconcile = Some(AnewReconcile::default());
        self.proceed(world, decisions)
    }

    /// The reply to the request arrives, or none.
    pub(super) fn replied(
        &mut self,
        (step, reply): (AnewStep, WriteReply<OfAnew>),
        world: &AnewWorld,
        decisions: &mut AnewDecisions,
    ) -> Result<(), Broken> {
        let now = world.now().into();
        let of;
        let attempt = match &step {
            AnewStep::SeenAt(..) | AnewStep::Complete => AttemptedWrite::Set(step),
            AnewStep::Evict(..) => AttemptedWrite::Evict(step),
            AnewStep::Apply(index, number, version, label) => {
                of = (*index, *number);
                AttemptedWrite::Apply {
                    uid: &of,
                    version,
                    label,
                    write: step,
                }
            }
            AnewStep::Mark(index, number, ..)
            | AnewStep::Unmark(index, number, _)
            | AnewStep::Delete(index, number, ..)
            | AnewStep::Snapshot((index, number, ..), _) => {
                of = (*index, *number);
                AttemptedWrite::Step {
                    write: step,
                    of: &of,
                    failed: "failed".to_owned(),
                }
            }
        };
        let memory = Arc::make_mut(&mut self.memory);
        let outcome = memory.answered(&attempt, reply, now);
        simplify(memory);
        self.forget_past_writes(world);
        if let Some(reconcile) = &mut self.reconcile {
            reconcile.machine.answered(outcome.map_err(|_| ()));
        }
        self.proceed(world, decisions)
    }

    /// Does what the machine returns, until a request is to be sent or the reconcile has ended.
    fn proceed(&mut self, world: &AnewWorld, decisions: &mut AnewDecisions) -> Result<(), Broken> {
        let now = world.now().into();
        let Some(mut reconcile) = self.reconcile.take() else {
            return Ok(());
        };
        let mut answered = Vec::new().into_iter();
        loop {
            match reconcile.machine.next(&*self.memory, now, false) {
                RolloutTask::Decide => {
                    let (seen, faults) = self.overlaid(now);
                    let decision = decisions.decide(world, &seen, faults)?;
                    reconcile.steps = Arc::clone(&decision.steps);
                    answered = decision.facts.to_vec().into_iter();
                    reconcile.machine.decided(answered.next().unwrap_or_default());
                }
                // The API server answers at once.
                RolloutTask::Ask | RolloutTask::ReadQuotas => {
                    reconcile.machine.decided(answered.next().unwrap_or_default());
                }
                RolloutTask::Write(place) => {
                    reconcile.sending = reconcile.steps.get(place).copied();
                    reconcile.machine = reconcile.machine.uncounted();
                    self.reconcile = Some(reconcile);
                    return Ok(());
                }
                RolloutTask::Report => {
                    let memory = Arc::make_mut(&mut self.memory);
                    reconcile.machine.reported(memory, Ok(ReportWrite::Something));
                }
                RolloutTask::ReadEvents => reconcile.machine.read_events(false),
                RolloutTask::End(end) => {
                    if matches!(end, ReconcileEnd::Rests { settles: true, .. }) {
                        self.memory = Arc::default();
                    }
                    return Ok(());
                }
            }
        }
    }

    /// What its watches have shown, with the replies that they do not show yet; and the writes that failed.
    fn overlaid(&mut self, now: Seconds) -> (AnewObjects, KnownFaults) {
        let mut objects = self.seen;
        let indexed = objects.claims.iter().enumerate();
        let claims = indexed.filter_map(|(index, claim)| {
            Some(IndexedClaim {
                index,
                claim: (*claim)?,
            })
        });
        let mut claims: Vec<IndexedClaim> = claims.collect();
        let memory = Arc::make_mut(&mut self.memory);
        memory.overlay(claims.iter_mut(), now);
        simplify(memory);
        for IndexedClaim { index, claim } in claims {
            objects.claims[index] = Some(claim);
        }
        // A watch shows all PVCs at once, and never older ones: with its replies, a view is a view.
        self.seen = objects;
        memory.written.clear();
        let waits = |fault: &Option<RetriedWrite>| fault.as_ref().map(|fault| fault.last != 0);
        let denied = memory
            .denials
            .iter()
            .map(|((index, number), denial)| (*index, *number, denial.label, denial.last != 0));
        let faults = KnownFaults {
            of_set: waits(&memory.write_denied),
            of_pod: waits(&memory.not_evicted),
            of_step: waits(&memory.not_recreated),
            denied: denied.collect(),
        };
        (objects, faults)
    }

    /// Forgets the writes that can never be decided again: their objects have changed, as the controller knows.
    fn forget_past_writes(&mut self, world: &AnewWorld) {
        let seen = self.overlaid(world.now().into()).0;
        let is_shown = |index: usize, number: u8, version: u8| {
            let claims = [seen.claims[index], world.objects.claims[index]].into_iter().flatten();
            claims
                .into_iter()
                .any(|claim| (claim.number, claim.version) == (number, version))
        };
        let memory = Arc::make_mut(&mut self.memory);
        memory.overtaken.retain(|_, (write, _)| match *write {
            AnewStep::Apply(index, number, version, _)
            | AnewStep::Mark(index, number, version, _)
            | AnewStep::Unmark(index, number, version)
            | AnewStep::Delete(index, number, version, _) => is_shown(index, number, version),
            AnewStep::Snapshot(name, _) => world.snapshots.iter().flatten().all(|one| one.name != name),
            _ => true,
        });
    }

    /// True iff a write that failed is tried again later.
    pub(super) fn waits(&self) -> bool {
        let SetMemory {
            write_denied,
            not_evicted,
            not_recreated,
            denials,
            ..
        } = &*self.memory;
        let mut faults = [write_denied, not_evicted, not_recreated].into_iter().flatten();
        faults.any(|fault| fault.last != 0) || denials.values().any(|denial| denial.last != 0)
    }

    /// True iff a write was answered, and would count as denied if it were overtaken for a while.
    pub(super) fn is_to_be_late(&self) -> bool {
        self.memory.overtaken.values().any(|(_, since)| *since != 0)
    }

    /// The pauses after failures end.
    pub(super) fn retry(&mut self) {
        let memory = Arc::make_mut(&mut self.memory);
        memory.retry_now(|_, _| true);
        let faults = [
            &mut memory.write_denied,
            &mut memory.not_evicted,
            &mut memory.not_recreated,
        ];
        faults.into_iter().flatten().for_each(RetriedWrite::retry_now);
    }

    /// More time passes than a watch may be late.
    pub(super) fn wait_for_watch(&mut self) {
        let memory = Arc::make_mut(&mut self.memory);
        memory.overtaken.values_mut().for_each(|(_, since)| *since = 0);
    }
}

/// Drops what does not matter: the numbers of failures. A controller may reconcile at any time.
fn simplify(memory: &mut SetMemory<OfAnew>) {
    let faults = [
        &mut memory.undone,
        &mut memory.write_denied,
        &mut memory.not_evicted,
        &mut memory.not_recreated,
    ];
    for fault in faults.into_iter().flatten() {
        (fault.attempts, fault.what) = (1, "failed: no".to_owned());
    }
    memory.denials.values_mut().for_each(|denial| denial.attempts = 1);
    memory.applies.values_mut().for_each(|apply| apply.at = 0);
    memory.unanswered.clear();
}
