//! The objects of one replacement, each in a few bytes.

/// The number of ordinals.
pub(super) const PLACES: usize = 3;

/// The partition that keeps every Pod.
pub(super) const HELD: u8 = u8::MAX;

/// The kinds of dependents.
pub(super) const POD: usize = 0;
pub(super) const CLAIM: usize = 1;
pub(super) const REVISION: usize = 2;

/// The ControllerRevision with the Pod template of the first one in other bytes.
pub(super) const OTHER_BYTES: usize = 2;

/// A StatefulSet. Objects are numbered: 0 is no uid and no version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SmallSet {
    pub(super) uid: u8,
    pub(super) version: u8,
    pub(super) generation: u8,
    pub(super) terminating: bool,
    /// The finalizers: ours, and those of the propagation policies.
    pub(super) ours: bool,
    pub(super) orphan: bool,
    pub(super) foreground: bool,
    pub(super) replicas: u8,
    /// The Pod template.
    pub(super) image: u8,
    /// Whether a user wrote the Pod template after the CREATE.
    pub(super) image_of_user: bool,
    pub(super) label: u8,
    pub(super) partition: u8,
    /// Whether `whenDeleted` is `Delete`.
    pub(super) deletes_claims: bool,
    /// Whether a user is a manager of `whenDeleted` since our last change of it.
    pub(super) retained_by_user: bool,
    /// Whether the live templates are the desired ones.
    pub(super) grown: bool,
    /// Whether a change is staged, whose rollout is complete.
    pub(super) staged: bool,
    /// Whether the managed fields are those of our CREATE.
    pub(super) managed_by_us: bool,
    /// The status: generation, and the number of the ControllerRevision.
    pub(super) observed: u8,
    pub(super) revision: u8,
}

/// The stages of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SmallStage {
    Prepared,
    Releasing,
    Created,
}

/// A journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SmallJournal {
    pub(super) version: u8,
    pub(super) stage: SmallStage,
    pub(super) set: SmallSet,
    pub(super) deletes_claims: bool,
    pub(super) grown: bool,
    pub(super) new_image: bool,
    /// The ordinals of the Pods to adopt, as bits.
    pub(super) pods: u8,
    pub(super) namespace: u8,
    /// Whether a backup brought it back: its Secret has another uid.
    pub(super) restored: bool,
}

/// A Pod, a PVC, a ControllerRevision or the ClaimRollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Dependent {
    /// The uid of the owner.
    pub(super) owner: u8,
    /// Whether the graph of the garbage collector has this owner.
    pub(super) known: bool,
    /// The revision of a Pod.
    pub(super) revision: u8,
    /// Whether it is the object of the beginning.
    pub(super) first: bool,
}

/// All dependents but the ClaimRollout, by kind and place.
pub(super) type AllDependents = [[Option<Dependent>; PLACES]; 3];

/// What users want, from their acknowledged requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Truth {
    pub(super) replicas: u8,
    pub(super) image: u8,
    pub(super) label: u8,
    pub(super) deletes_claims: bool,
    /// The ordinals of the Pods that may be deleted, as bits: a user deleted them, or scaled below them once.
    pub(super) excused: u8,
    /// A Pod of the beginning was restarted, and no user had changed the Pod template.
    pub(super) restarted: bool,
    /// Somebody else created the StatefulSet.
    pub(super) foreign: bool,
    /// A user deleted the StatefulSet, and nobody has created one since.
    pub(super) deleted: bool,
    /// The controllers, as bits, whose CREATE was on its way then: such a request has no precondition that could fail.
    pub(super) creating: u8,
    /// A user deleted the StatefulSet once: its dependents may be deleted.
    pub(super) over: bool,
}

/// What is the same in all states of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Surroundings {
    /// The StatefulSet controller would write the old Pod template in other bytes.
    pub(crate) other_bytes: bool,
    /// A webhook changes the Pod template when a StatefulSet is created.
    pub(crate) mutates: bool,
    /// The garbage collector does not know the dependents yet.
    pub(crate) unknown: bool,
    /// `whenDeleted` is `Delete`.
    pub(crate) deletes_claims: bool,
    /// There is no guard.
    pub(crate) unguarded: bool,
    /// Somebody makes backups of the journals.
    pub(crate) backups: bool,
    /// A webhook, a proxy or the API server denies writes, with any code.
    pub(crate) denies: bool,
}

impl SmallSet {
    /// What the checks depend on.
    pub(super) fn checked(&self) -> Self {
        Self {
            uid: self.uid,
            image: self.image,
            label: self.label,
            staged: self.staged,
            ..Self::default()
        }
    }

    pub(super) fn retains(&self) -> bool {
        self.ours && !self.deletes_claims
    }

    /// True iff these fields, which are in `spec`, differ.
    pub(super) fn has_another_spec(&self, other: &Self) -> bool {
        (self.replicas, self.image, self.partition, self.deletes_claims)
            != (other.replicas, other.image, other.partition, other.deletes_claims)
    }

    /// True iff the set has the same generation and finalizers.
    pub(super) fn is_as_marked(&self, other: &Self) -> bool {
        let of = |set: &Self| (set.uid, set.generation, set.ours, set.orphan, set.foreground);
        of(self) == of(other)
    }

    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        visit(&mut self.version);
    }

    pub(super) fn generations(&mut self, visit: &mut impl FnMut(&mut u8)) {
        visit(&mut self.generation);
        visit(&mut self.observed);
    }
}

impl SmallJournal {
    pub(super) fn versions(&mut self, visit: &mut impl FnMut(&mut u8)) {
        visit(&mut self.version);
        self.set.versions(visit);
    }
}

impl Dependent {
    /// An object of the beginning, of the first set.
    pub(super) const fn first(owner: u8, known: bool) -> Self {
        Self {
            owner,
            known,
            revision: 1,
            first: true,
        }
    }

    /// Gives it an owner, which the garbage collector does not know yet.
    pub(super) fn own(&mut self, owner: u8) {
        (self.owner, self.known) = (owner, false);
    }

    pub(super) fn orphan(&mut self) {
        (self.owner, self.known) = (0, true);
    }
}
