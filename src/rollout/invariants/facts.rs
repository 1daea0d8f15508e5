//! The facts that the guarantees are about. Each source of traces translates its objects into these types.

use std::fmt;

/// An identity: a uid, a resourceVersion, a revision or the name of a class. Equal texts have equal identities.
pub type Id = u64;

/// A guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is described at its function")]
pub enum Rule {
    S1,
    S2,
    S3,
    S4,
    S5,
    S6,
    S7,
    S8,
    S9,
    S10,
    S12,
    S13,
    S19,
    S21,
    L1,
    L4,
    L5,
    L8,
}

/// A broken guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The guarantee.
    pub rule: Rule,
    /// Why the guarantee is broken.
    pub why: String,
}

/// The objects at one time.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The set, if it exists.
    pub set: Option<SetFacts>,
    /// The desired templates, else the live ones.
    pub wanted: &'a [Wanted],
    /// The claims with names of the set, including those out of range.
    pub claims: &'a [ClaimFacts],
    /// The Pods with names of the set.
    pub pods: &'a [PodFacts],
    /// The bytes that the quota of the namespace leaves, if there is a quota.
    pub room: Option<u64>,
}

/// A StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFacts {
    /// `metadata.uid`
    pub uid: Id,
    /// True iff the set is being deleted.
    pub terminating: bool,
    /// `spec.ordinals.start`
    pub first_ordinal: u32,
    /// `spec.replicas`
    pub replicas: u32,
    /// The replicas whose claims follow the target: until the rollout is complete, those that were there when it was
    /// staged, too.
    pub followed: u32,
    /// The target revision that is rolled out to existing claims, if any.
    pub target: Option<Id>,
    /// True iff the staged change cannot be read: it is damaged, of another set, or of a newer version.
    pub unreadable: bool,
    /// True iff the phase of the staged change is `Complete`.
    pub complete: bool,
    /// True iff claims come before Pods.
    pub lock_step: bool,
    /// True iff the rollout is paused.
    pub paused: bool,
    /// True iff the user replaces Pods by hand, in any order (`updateStrategy: OnDelete`).
    pub by_hand: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`
    pub partition: u32,
    /// True iff a stuck replica stops no other.
    pub parallel: bool,
    /// The most replicas that may be in motion at a time.
    pub max_in_motion: u32,
    /// The revision that Pods are to run.
    pub pod_revision: Id,
    /// The status that the StatefulSet controller wrote.
    pub status: StatusFacts,
}

/// The status of a StatefulSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFacts {
    /// True iff the status includes the last change of the spec.
    pub observed: bool,
    /// `updateRevision`
    pub update: Id,
    /// `currentRevision`
    pub current: Id,
    /// `replicas`
    pub replicas: u32,
    /// `readyReplicas`
    pub ready: u32,
    /// `updatedReplicas`
    pub updated: u32,
}

/// The desired values of one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The size in bytes.
    pub size: u64,
    /// The attributes class, if the template names one.
    pub class: Option<Id>,
    /// The StorageClass, if the template names one.
    pub storage_class: Option<Id>,
}

/// A claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// The index of the template.
    pub template: u32,
    /// The ordinal in the name.
    pub ordinal: u32,
    /// `metadata.uid`
    pub uid: Id,
    /// `metadata.resourceVersion`
    pub version: Id,
    /// The value of our label.
    pub revision: Option<Id>,
    /// The requested size in bytes.
    pub request: u64,
    /// The size in bytes that the driver was asked for; 0 if it was asked for none.
    pub allocated: u64,
    /// True iff an apply of ours alone asked for this size.
    pub our_size: bool,
    /// The capacity in bytes.
    pub capacity: u64,
    /// The requested attributes class.
    pub class: Option<Id>,
    /// The attributes class of the volume.
    pub current_class: Option<Id>,
    /// The StorageClass, if the claim names one.
    pub storage_class: Option<Id>,
    /// True iff the claim has a volume.
    pub bound: bool,
    /// True iff the claim is being deleted.
    pub terminating: bool,
    /// True iff the selector selects the claim, and no other controller owns it.
    pub ours: bool,
    /// True iff a Pod of another set mounts the claim.
    pub mounted_by_another: bool,
    /// True iff another set has a claim of the same name.
    pub ambiguous: bool,
    /// True iff the node has to expand the file system.
    pub on_the_node: bool,
    /// True iff a controller knows of a failed apply of the target. The controller may not know of later changes.
    pub refused: bool,
    /// True iff the driver reports what the claim requests as infeasible.
    pub infeasible: bool,
    /// True iff the driver reports an updated claim as infeasible, or the API server denied an outdated one.
    pub stuck: bool,
}

/// A Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// The ordinal in the name.
    pub ordinal: u32,
    /// True iff the set controls the Pod.
    pub ours: bool,
    /// The revision that the Pod runs.
    pub revision: Id,
    /// True iff the Pod is Ready, and is not being deleted.
    pub ready: bool,
    /// True iff the Pod has been Ready for `minReadySeconds`.
    pub available: bool,
    /// True iff the Pod is being deleted.
    pub going: bool,
    /// True iff the Pod has ended, successfully or not.
    pub ended: bool,
    /// True iff the Pod is about to be evicted (`DisruptionTarget`).
    pub disrupted: bool,
    /// True iff the Pod was created after the target was staged.
    pub after_staging: bool,
}

impl SetFacts {
    /// The ordinals in range.
    pub fn ordinals(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        self.first_ordinal..self.first_ordinal.saturating_add(self.replicas)
    }

    /// The ordinals that were in range when the target was staged, and that were scaled away since, from the partition up.
    pub fn scaled_away(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let [first, end] =
            [self.replicas.max(self.partition), self.followed].map(|count| self.first_ordinal.saturating_add(count));
        first..end
    }

    /// True iff the replica was scaled away since the target was staged.
    #[must_use]
    pub fn is_scaled_away(&self, ordinal: u32) -> bool {
        self.scaled_away().any(|away| away == ordinal)
    }

    /// True iff the replica is in range, and not below the partition.
    #[must_use]
    pub fn reaches(&self, ordinal: u32) -> bool {
        let index = ordinal.checked_sub(self.first_ordinal);
        index.is_some_and(|index| (self.partition..self.replicas).contains(&index))
    }

    /// The index of an ordinal.
    #[must_use]
    pub fn index(&self, ordinal: u32) -> u32 {
        ordinal.saturating_sub(self.first_ordinal)
    }
}

impl Scene<'_> {
    /// The claim of a template and an ordinal.
    #[must_use]
    pub fn claim(&self, template: u32, ordinal: u32) -> Option<&ClaimFacts> {
        let mut claims = self.claims.iter();
        claims.find(|claim| claim.template == template && claim.ordinal == ordinal)
    }

    /// The Pod of an ordinal, if the set controls it.
    #[must_use]
    pub fn pod(&self, ordinal: u32) -> Option<&PodFacts> {
        self.pods.iter().find(|pod| pod.ordinal == ordinal && pod.ours)
    }

    /// The templates with their indexes.
    pub fn templates(&self) -> impl Iterator<Item = (u32, Wanted)> + '_ {
        (0..).zip(self.wanted.iter().copied())
    }
}

impl Wanted {
    /// The attributes class that the claim can get. It is for one driver, so a claim of another StorageClass gets none.
    #[must_use]
    pub fn class_for(&self, claim: &ClaimFacts) -> Option<Id> {
        let is_of_class = self.storage_class.is_none() || self.storage_class == claim.storage_class;
        self.class.filter(|_| is_of_class)
    }
}

impl ClaimFacts {
    /// True iff the claim is updated and ready: it has at least the size of the template, and the volume has the
    /// requested attributes class.
    #[must_use]
    pub fn is_done(&self, target: Id, wanted: Wanted) -> bool {
        self.revision == Some(target) && self.bound && self.capacity >= wanted.size && self.class == self.current_class
    }

    /// True iff the claim is updated, and only its node has work to do.
    #[must_use]
    pub fn waits_for_the_node(&self, target: Id) -> bool {
        self.revision == Some(target) && self.on_the_node && self.class == self.current_class
    }

    /// True iff the storage has yet to do what a staging of ours requested, whichever that was.
    #[must_use]
    pub fn moves(&self) -> bool {
        let has_class = self.class == self.current_class;
        let is_over = self.infeasible || has_class && (self.capacity >= self.request || self.on_the_node);
        self.bound && !self.terminating && self.revision.is_some() && !is_over
    }

    /// True iff the claim of a replica that was scaled away can follow the target without its Pod.
    #[must_use]
    pub fn can_follow(&self, target: Id) -> bool {
        self.bound && !self.terminating && (self.revision == Some(target) || !self.is_foreign())
    }

    /// True iff the claim does not, or may not, belong to the set.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        !self.ours || self.mounted_by_another || self.ambiguous
    }
}

impl Broken {
    pub(super) fn of(rule: Rule, why: String) -> Result<(), Self> {
        Err(Self { rule, why })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.why)
    }
}
