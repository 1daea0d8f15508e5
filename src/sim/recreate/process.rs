//! A controller of ours: what it has seen, and the memory and the machine of the product, about the objects of the model.

use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::objects::{AnewClaim, AnewObjects, AnewStep, MadeFrom};
use crate::api::Seconds;
use crate::rollout::machine::{Kinds, Machine, RetriedWrite, SetMemory};

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
    pub(super) memory: Arc<SetMemory<OfAnew>>,
    pub(super) reconcile: Option<AnewReconcile>,
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

/// The writes that failed, each with whether its pause goes on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct KnownFaults {
    pub(super) of_set: Option<bool>,
    pub(super) of_pod: Option<bool>,
    pub(super) of_step: Option<bool>,
    /// Denied applies: the index and the number of the PVC, and the staging.
    pub(super) denied: Vec<(usize, u8, u8, bool)>,
}

/// A reconcile in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct AnewReconcile {
    pub(super) machine: Machine<()>,
    /// The writes of the last decision.
    pub(super) steps: Arc<[AnewStep]>,
    /// The next request.
    pub(super) sending: Option<AnewStep>,
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

    /// Adds the replies that its watches do not show yet to what they have shown. A watch shows all PVCs at once, and never
    /// older ones: with its replies, a view is a view.
    pub(super) fn merge_replies(&mut self, now: Seconds) {
        let indexed = self.seen.claims.iter().enumerate();
        let claims = indexed.filter_map(|(index, claim)| {
            Some(IndexedClaim {
                index,
                claim: (*claim)?,
            })
        });
        let mut claims: Vec<IndexedClaim> = claims.collect();
        let memory = Arc::make_mut(&mut self.memory);
        memory.overlay(claims.iter_mut(), now);
        memory.written.clear();
        simplify(memory);
        for IndexedClaim { index, claim } in claims {
            self.seen.claims[index] = Some(claim);
        }
    }

    /// The writes that failed.
    pub(super) fn faults(&self) -> KnownFaults {
        let memory = &*self.memory;
        let waits = |fault: &Option<RetriedWrite>| fault.as_ref().map(|fault| fault.last != 0);
        let denied = memory
            .denials
            .iter()
            .map(|((index, number), denial)| (*index, *number, denial.label, denial.last != 0));
        KnownFaults {
            of_set: waits(&memory.write_denied),
            of_pod: waits(&memory.not_evicted),
            of_step: waits(&memory.not_recreated),
            denied: denied.collect(),
        }
    }

    /// True iff a write that failed is tried again later.
    pub(super) fn waits(&self) -> bool {
        let faults = self.faults();
        faults.retried() != faults
    }

    /// True iff a write was answered, and would count as denied if it were overtaken for a while.
    pub(super) fn is_to_be_late(&self) -> bool {
        self.memory.overtaken.values().any(|(_, since)| *since != 0)
    }

    /// The pauses after failures end.
    pub(super) fn retry(&mut self) {
        Arc::make_mut(&mut self.memory).end_pauses();
    }

    /// More time passes than a watch may be late.
    pub(super) fn wait_for_watch(&mut self) {
        let memory = Arc::make_mut(&mut self.memory);
        memory.overtaken.values_mut().for_each(|(_, since)| *since = 0);
    }
}

impl KnownFaults {
    /// The same after the pauses.
    pub(super) fn retried(&self) -> Self {
        let [of_set, of_pod, of_step] = [self.of_set, self.of_pod, self.of_step].map(|fault| fault.map(|_| false));
        let denied = self
            .denied
            .iter()
            .map(|(index, number, of, _)| (*index, *number, *of, false));
        Self {
            of_set,
            of_pod,
            of_step,
            denied: denied.collect(),
        }
    }
}

/// Drops what does not matter: the numbers of failures. A controller may reconcile at any time.
pub(super) fn simplify(memory: &mut SetMemory<OfAnew>) {
    for fault in memory.failed_writes() {
        (fault.attempts, fault.what) = (1, "failed: no".to_owned());
    }
    memory.denials.values_mut().for_each(|denial| denial.attempts = 1);
    memory.applies.values_mut().for_each(|apply| apply.at = 0);
    memory.unanswered.clear();
}
