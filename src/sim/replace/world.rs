//! The state of the model, and the API server.

use super::memory::SmallProcess;
use super::objects::{
    AllDependents, CLAIM, Dependent, HELD, OTHER_BYTES, PLACES, POD, REVISION, SmallAnswer, SmallJournal, SmallSet,
    Surroundings, Truth,
};

/// More than the versions, and the generations, of a state.
const NUMBERS: usize = 64;

/// A namespace with a StatefulSet, the journal, and everybody who acts on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ReplaceWorld {
    pub(super) surroundings: Surroundings,
    pub(super) set: Option<SmallSet>,
    pub(super) journal: Option<SmallJournal>,
    /// The last journal that was bound to its Secret, in a backup.
    pub(super) backup: Option<SmallJournal>,
    /// The ClaimRollout.
    pub(super) report: Option<Dependent>,
    pub(super) dependents: AllDependents,
    /// The uid of the namespace; 0 if there is none.
    pub(super) namespace: u8,
    pub(super) namespace_ends: bool,
    pub(super) guard: bool,
    /// Whether the quota has room for one more StatefulSet.
    pub(super) room: bool,
    /// What the StatefulSet controller sees: the StatefulSet, and the owners of the ControllerRevisions.
    pub(super) seen: Option<SmallSet>,
    pub(super) seen_revisions: [Option<u8>; PLACES],
    /// Our controllers.
    pub(super) processes: [Option<SmallProcess>; 2],
    /// The uid of the set that the API server deletes next: an update that removes its last finalizer was accepted.
    pub(super) emptied: Option<u8>,
    /// The old set as it was when it was deleted.
    pub(super) last: Option<SmallSet>,
    pub(super) truth: Truth,
    /// The user actions that are left, as bits, and the faults.
    pub(super) actions: u8,
    pub(super) faults: u8,
    /// The last version, and the last uid of a StatefulSet.
    versions: u8,
    pub(super) uids: u8,
}

/// The propagation policy of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl ReplaceWorld {
    /// A StatefulSet of two with a complete change, and a PVC of a third replica that was scaled down.
    pub(super) fn start(surroundings: Surroundings, processes: usize, actions: u8, faults: u8) -> Self {
        let known = !surroundings.unknown;
        let deletes_claims = surroundings.deletes_claims;
        let set = SmallSet {
            uid: 1,
            version: 1,
            generation: 1,
            replicas: 2,
            deletes_claims,
            staged: true,
            observed: 1,
            revision: 1,
            ..SmallSet::default()
        };
        let owned = Some(Dependent::first(1, known));
        let claim = Some(Dependent::first(u8::from(deletes_claims), known || !deletes_claims));
        let mut dependents = [[None; PLACES]; 3];
        dependents[POD][..2].fill(owned);
        dependents[CLAIM].fill(claim);
        dependents[REVISION][0] = owned;
        Self {
            surroundings,
            set: Some(set),
            journal: None,
            backup: None,
            report: owned,
            dependents,
            namespace: 1,
            namespace_ends: false,
            guard: !surroundings.unguarded,
            room: true,
            seen: Some(set),
            seen_revisions: [Some(1), None, None],
            emptied: None,
            last: None,
            processes: [0, 1].map(|place| (place < processes).then(SmallProcess::default)),
            truth: Truth {
                replicas: 2,
                image: 0,
                label: 0,
                deletes_claims,
                excused: 0b100,
                restarted: false,
                foreign: false,
                deleted: false,
                creating: 0,
                over: false,
                unguarded: false,
            },
            actions,
            faults,
            versions: 1,
            uids: 1,
        }
    }

    pub(super) fn next_version(&mut self) -> u8 {
        self.versions += 1;
        self.versions
    }

    /// A user deleted the StatefulSet.
    pub(super) fn note_delete(&mut self) {
        // It has read the namespace, and reads nothing more of it before its CREATE.
        let creates = |process: &SmallProcess| process.facts.creates || process.emptied != 0;
        let creating = [0, 1].map(|place| u8::from(self.processes[place].as_ref().is_some_and(creates)) << place);
        (self.truth.deleted, self.truth.over) = (true, true);
        self.truth.creating = creating[0] | creating[1];
    }

    /// Changes the StatefulSet, if it exists.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut SmallSet)) -> SmallAnswer {
        let Some(before) = self.set else {
            return SmallAnswer::NotFound;
        };
        let mut set = before;
        change(&mut set);
        if set != before {
            set.version = self.next_version();
            // `markAsDeleting` in k8s.io/apiserver, pkg/registry/generic/registry/store.go.
            let is_new = set.has_another_spec(&before) || set.terminating != before.terminating;
            set.generation = before.generation + u8::from(is_new);
        }
        let is_deleted = set.terminating && !(set.ours || set.orphan || set.foreground);
        self.set = Some(set);
        if is_deleted {
            self.remove();
        }
        SmallAnswer::Done
    }

    /// The StatefulSet does not exist any more. Watches get its last version.
    fn remove(&mut self) {
        let removed = self.set.take();
        self.last = removed.filter(|set| set.uid == 1).or(self.last);
    }

    /// Accepts an update of this version that removes its last finalizer. The object is deleted by its uid after that.
    pub(super) fn empty(&mut self, (uid, version): (u8, u8)) -> SmallAnswer {
        match self.set {
            None => SmallAnswer::NotFound,
            Some(set) if (set.uid, set.version) != (uid, version) => SmallAnswer::Conflict,
            Some(_) => {
                self.emptied = Some(uid);
                SmallAnswer::Done
            }
        }
    }

    /// Deletes the StatefulSet whose last finalizer an update has removed.
    pub(super) fn delete_emptied(&mut self) {
        let emptied = self.emptied.take();
        if self.set.is_some_and(|set| Some(set.uid) == emptied) {
            self.remove();
        }
    }

    /// Changes the StatefulSet, if it has this uid and version.
    pub(super) fn change_version(&mut self, seen: (u8, u8), change: impl FnOnce(&mut SmallSet)) -> SmallAnswer {
        match self.set {
            Some(set) if (set.uid, set.version) != seen => SmallAnswer::Conflict,
            _ => self.change(change),
        }
    }

    pub(super) fn delete(&mut self, propagation: Propagation) -> SmallAnswer {
        self.change(|set| {
            let was_orphaning = set.orphan && propagation == Propagation::Orphan;
            set.terminating = true;
            set.orphan = was_orphaning || propagation == Propagation::Orphan;
            set.foreground = propagation == Propagation::Foreground;
        })
    }

    /// Creates a StatefulSet.
    pub(super) fn create(&mut self, set: SmallSet) -> SmallAnswer {
        if self.namespace == 0 {
            return SmallAnswer::NotFound;
        }
        if self.namespace_ends || (self.set.is_none() && !self.room) {
            return SmallAnswer::Denied;
        }
        if self.set.is_some() {
            return SmallAnswer::Conflict;
        }
        self.uids += 1;
        self.set = Some(SmallSet {
            uid: self.uids,
            version: self.next_version(),
            generation: 1,
            terminating: false,
            observed: 0,
            revision: 0,
            ..set
        });
        SmallAnswer::Done
    }

    /// Numbers versions and generations anew: only whether two are equal, or which is larger, matters.
    pub(super) fn canonical(mut self) -> Self {
        self.rank_generations();
        let mut known = [0_u8; NUMBERS];
        let mut last = 0;
        let mut renumber = |version: &mut u8| {
            if *version != 0 {
                let number = &mut known[usize::from(*version)];
                if *number == 0 {
                    last += 1;
                    *number = last;
                }
                *version = *number;
            }
        };
        self.set.iter_mut().for_each(|set| set.versions(&mut renumber));
        self.seen.iter_mut().for_each(|set| set.versions(&mut renumber));
        self.last.iter_mut().for_each(|set| set.versions(&mut renumber));
        let journals = self.journal.iter_mut().chain(&mut self.backup);
        journals.for_each(|journal| journal.versions(&mut renumber));
        for process in self.processes.iter_mut().flatten() {
            process.versions(&mut renumber);
        }
        self.versions = last;
        self
    }

    fn rank_generations(&mut self) {
        let mut exists = [false; NUMBERS];
        self.generations(&mut |generation| exists[usize::from(*generation)] = true);
        exists[0] = false;
        let mut ranks = [0_u8; NUMBERS];
        let mut last = 0;
        for (rank, exists) in ranks.iter_mut().zip(exists) {
            last += u8::from(exists);
            *rank = last;
        }
        self.generations(&mut |generation| *generation = ranks[usize::from(*generation)]);
    }

    fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        let sets = self.set.iter_mut().chain(&mut self.seen).chain(&mut self.last);
        let journals = self.journal.iter_mut().chain(&mut self.backup);
        sets.chain(journals.map(|journal| &mut journal.set))
            .for_each(|set| set.generations(visit));
        for process in self.processes.iter_mut().flatten() {
            process.generations(visit);
        }
    }

    /// The dependents that exist, with the ClaimRollout.
    pub(super) fn all_dependents(&mut self) -> impl Iterator<Item = &mut Option<Dependent>> {
        let report = std::iter::once(&mut self.report);
        let others = self.dependents.iter_mut().flatten();
        report.chain(others).filter(|dependent| dependent.is_some())
    }

    /// Why a guarantee does not hold in this state.
    pub(super) fn broken(&self) -> Option<&'static str> {
        let is_lost = |kind: usize, place: usize| !self.dependents[kind][place].is_some_and(|one| one.first);
        let is_excused = |place: usize| self.truth.image != 0 || self.truth.excused & 1 << place != 0;
        if self.truth.over {
            return None;
        }
        let is_pod_lost = (0..PLACES).any(|place| is_lost(POD, place) && !is_excused(place));
        if is_pod_lost || self.truth.restarted {
            return Some("S17: a Pod was deleted or restarted");
        }
        if (0..PLACES).any(|place| is_lost(CLAIM, place)) {
            return Some("S17: a PVC was deleted");
        }
        if is_lost(REVISION, 0) {
            return Some("S17: the ControllerRevision of the Pods was deleted");
        }
        if self.report.is_none() {
            return Some("S17: the ClaimRollout was deleted");
        }
        let set = self.set.filter(|_| !self.truth.foreign)?;
        let image = if self.surroundings.mutates {
            set.image
        } else {
            self.truth.image
        };
        let wanted = (self.truth.replicas, image, self.truth.label);
        let is_deleting = set.deletes_claims && !self.truth.deletes_claims;
        let is_lost = (set.replicas, set.image, set.label) != wanted || is_deleting;
        is_lost.then_some("S17: an acknowledged write is lost")
    }

    /// True iff the replacement has ended, and no controller is in the middle of one.
    pub(super) fn is_ended(&self) -> bool {
        let is_idle = self.processes.iter().flatten().all(|process| process.machine == 0);
        let Some(set) = self.set else {
            // We may have seen a DELETE whose trace is not there any more.
            let is_deleted = self.truth.deleted || self.truth.over && !self.truth.foreign;
            return is_idle && is_deleted && self.journal.is_none_or(|journal| journal.restored);
        };
        let is_held = self.surroundings.mutates && set.ours && set.partition == HELD && !set.terminating;
        if is_held && self.truth.image != set.image {
            return true;
        }
        let is_prevented = !self.guard || !self.room || set.partition != 0 || self.surroundings.prevent();
        let is_refused = set.staged && is_prevented;
        let is_replaced = set.grown || self.truth.foreign || is_refused || self.namespace_ends;
        let is_restored = (!set.managed_by_us || self.truth.over)
            && set.partition != HELD
            && set.deletes_claims == self.truth.deletes_claims;
        let pods = &self.dependents[POD][..usize::from(set.replicas).min(PLACES)];
        let has_pods = pods.iter().all(|pod| pod.is_some_and(|pod| pod.owner == set.uid));
        let is_scaled = self.truth.over || set.replicas >= self.truth.replicas;
        let has_report = self.report.is_none_or(|report| report.owner == set.uid);
        let has_revision = self.truth.image != 0 || self.surroundings.mutates || set.revision == 1;
        // A journal that is refused stays until somebody deletes it.
        is_idle
            && self.journal.is_none_or(|journal| journal.restored)
            && !set.ours
            && !set.terminating
            && (set.observed == set.generation || self.surroundings.stopped)
            && is_replaced
            && is_restored
            && has_pods
            && is_scaled
            && has_report
            && has_revision
            && self.dependents[REVISION][OTHER_BYTES].is_none()
    }
}
