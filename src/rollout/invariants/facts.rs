//! What the guarantees are about, in small own types: whoever judges a history translates it into these.

use std::fmt;

/// An identity: a uid, a resourceVersion, a revision or the name of a class, whatever it was written as. Equal means equal.
pub type Id = u64;

/// A guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is described where it is judged")]
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
    L1,
    L5,
}

/// A guarantee that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub rule: Rule,
    /// Why: what was expected and what was found.
    pub why: String,
}

/// What there is at one time.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The set, if there is one.
    pub set: Option<SetFacts>,
    /// What is wished, template by template; what the set has, where nothing is.
    pub wanted: &'a [Wanted],
    /// The claims under the names of the set's claims, those out of range included.
    pub claims: &'a [ClaimFacts],
    /// The Pods under the names of the set's Pods.
    pub pods: &'a [PodFacts],
    /// The bytes that the quota of the namespace leaves, if there is one.
    pub room: Option<u64>,
}

/// A StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFacts {
    /// Its uid.
    pub uid: Id,
    /// It is being deleted.
    pub terminating: bool,
    /// `spec.ordinals.start`
    pub first_ordinal: u32,
    /// `spec.replicas`
    pub replicas: u32,
    /// What is staged and is to be brought to claims that exist, if anything is.
    pub target: Option<Id>,
    /// The record says that every replica has been brought to it.
    pub complete: bool,
    /// Claims come before Pods.
    pub lock_step: bool,
    /// The user stopped it.
    pub paused: bool,
    /// The user replaces Pods by hand, in any order (`updateStrategy: OnDelete`).
    pub by_hand: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`
    pub partition: u32,
    /// What is stuck stops only itself.
    pub parallel: bool,
    /// How many replicas may be in motion at a time.
    pub max_in_motion: u32,
    /// What Pods are to run.
    pub pod_revision: Id,
    /// What the StatefulSet controller has said of it.
    pub status: StatusFacts,
}

/// The status of a StatefulSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFacts {
    /// It knows the last change of the spec.
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

/// What is wished of the claims of one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes.
    pub size: u64,
    /// The attributes class, if the template names one.
    pub class: Option<Id>,
}

/// A claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// The place of its template in the list.
    pub template: u32,
    /// The ordinal in its name.
    pub ordinal: u32,
    /// Its uid.
    pub uid: Id,
    /// Its resourceVersion.
    pub version: Id,
    /// What our label says.
    pub revision: Option<Id>,
    /// The bytes that it asks for.
    pub request: u64,
    /// The bytes that it has.
    pub capacity: u64,
    /// The attributes class that it asks for.
    pub class: Option<Id>,
    /// The attributes class that it has.
    pub current_class: Option<Id>,
    /// It has a volume.
    pub bound: bool,
    /// It is being deleted.
    pub terminating: bool,
    /// It is the set's by what it says itself: the selector selects it, and no other controller owns it.
    pub ours: bool,
    /// A Pod that is not the set's mounts it.
    pub mounted_by_another: bool,
    /// Another set gives it the same name.
    pub ambiguous: bool,
    /// The node has the file system to expand.
    pub on_the_node: bool,
    /// The API server has refused what is wished, in the eyes of a controller, who may not know what came of it since.
    pub refused: bool,
    /// At the wish, the driver has said no; before it, the API server.
    pub stuck: bool,
}

/// A Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodFacts {
    /// The ordinal in its name.
    pub ordinal: u32,
    /// The set controls it.
    pub ours: bool,
    /// What it runs.
    pub revision: Id,
    /// It is Ready, and not on its way out.
    pub ready: bool,
    /// It is Ready for as long as the set asks for.
    pub available: bool,
    /// It is on its way out.
    pub going: bool,
    /// It has ended, well or not.
    pub ended: bool,
    /// Somebody is taking it away (`DisruptionTarget`).
    pub disrupted: bool,
}

impl SetFacts {
    /// The ordinals in range.
    pub fn ordinals(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        self.first_ordinal..self.first_ordinal.saturating_add(self.replicas)
    }

    /// True iff the replica is there, and not below the partition.
    #[must_use]
    pub fn reaches(&self, ordinal: u32) -> bool {
        let index = ordinal.checked_sub(self.first_ordinal);
        index.is_some_and(|index| (self.partition..self.replicas).contains(&index))
    }

    /// The place of an ordinal among the others.
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

    /// The Pod of an ordinal, if it is the set's.
    #[must_use]
    pub fn pod(&self, ordinal: u32) -> Option<&PodFacts> {
        self.pods.iter().find(|pod| pod.ordinal == ordinal && pod.ours)
    }

    /// The numbers of the templates.
    pub fn templates(&self) -> impl Iterator<Item = (u32, Wanted)> + '_ {
        (0..).zip(self.wanted.iter().copied())
    }
}

impl ClaimFacts {
    /// True iff it was brought to the wish, and has become it: the capacity is at least the smaller one of template and
    /// claim, and the attributes class is the one that it asks for.
    #[must_use]
    pub fn is_done(&self, target: Id, wanted: Wanted) -> bool {
        self.revision == Some(target)
            && self.bound
            && self.capacity >= wanted.size.min(self.request)
            && self.class == self.current_class
    }

    /// True iff it is at the wish, and only its node has work to do.
    #[must_use]
    pub fn waits_for_the_node(&self, target: Id) -> bool {
        self.revision == Some(target) && self.on_the_node && self.class == self.current_class
    }

    /// True iff it is somebody else's, or may be.
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
