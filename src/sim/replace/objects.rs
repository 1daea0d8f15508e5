//! The objects of one replacement, each in a few bytes.

use std::hash::{Hash, Hasher};

use crate::replace::Part;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// There has been no guard for longer than the results of checks count.
    pub(super) unguarded: bool,
}

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SmallAnswer {
    Done,
    Conflict,
    NotFound,
    /// By a quota, a webhook, or because the namespace is being deleted.
    Denied,
    /// There is none.
    Unsure,
    /// A planted bug forgets it.
    Forgotten,
}

/// What is the same in all states of a scope, so that it need not be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Time passes until what was checked does not count any more, and until nobody waits patiently.
    pub(crate) slow: bool,
    /// Whatever is watched is seen at once.
    pub(crate) prompt: bool,
    /// The StatefulSet controller does not run.
    pub(crate) stopped: bool,
    /// The read of this part fails, each time.
    pub(crate) unread: Option<Part>,
    /// Somebody answers the mark so in place of the API server, each time.
    pub(crate) answers_mark: Option<SmallAnswer>,
}

impl Hash for Surroundings {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Hash for SmallSet {
    /// In three numbers, because most of the time of a search is spent here. In larger ones, what differs in the highest
    /// bits of two numbers could cancel out.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            uid,
            version,
            generation,
            terminating,
            ours,
            orphan,
            foreground,
            replicas,
            image,
            image_of_user,
            label,
            partition,
            deletes_claims,
            retained_by_user,
            grown,
            staged,
            managed_by_us,
            observed,
            revision,
        } = *self;
        state.write_u32(u32::from_le_bytes([uid, version, generation, observed]));
        state.write_u32(u32::from_le_bytes([replicas, image, label, partition]));
        let flags = [
            terminating,
            ours,
            orphan,
            foreground,
            image_of_user,
            deletes_claims,
            retained_by_user,
            grown,
            staged,
            managed_by_us,
        ];
        state.write_u32(
            flags
                .iter()
                .fold(revision.into(), |bits, flag| bits << 1 | u32::from(*flag)),
        );
    }
}

impl Hash for Dependent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            owner,
            known,
            revision,
            first,
        } = *self;
        state.write_u32(u32::from_le_bytes([owner, known.into(), revision, first.into()]));
    }
}

impl Surroundings {
    /// True iff no replacement can begin, or end with another StatefulSet.
    pub(super) fn prevent(&self) -> bool {
        self.stopped || self.unread == Some(Part::Guard) || self.answers_mark.is_some()
    }
}

impl SmallSet {
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
