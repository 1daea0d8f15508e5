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

    /// What its watches have shown, with the replies that they do not show yet; and the writes that failed.
    pub(super) fn overlaid(&mut self, now: Seconds) -> (AnewObjects, KnownFaults) {
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
