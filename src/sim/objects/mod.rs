//! The objects of the model: only fields that matter, small enough to be copied and hashed millions of times.
//!
//! There is one set `web` with at most two templates and five replicas. Sizes are whole Gi; classes and labels are
//! numbers.

mod claim;

use std::sync::Arc;

use crate::templates::{Phase, UpdatePolicy};

pub(crate) use claim::{ClaimObject, ClaimOwner, Share};
pub use claim::{ModifyState, ResizeState};

/// The most replicas of a set.
pub(crate) const ORDINALS: usize = 5;
/// The most templates of a set.
pub(crate) const TEMPLATES: usize = 2;
/// The slots of claims, ordered by template, then by ordinal.
pub(crate) const SLOTS: usize = ORDINALS * TEMPLATES;

/// A uid. Each is used once.
pub(crate) type Uid = u16;
/// A resourceVersion.
pub(crate) type Version = u16;
/// Seconds, with an upper bound of about an hour and a half.
pub(crate) type Age = i16;
/// The upper bound of the age of Pods, reports and staged changes.
pub(crate) const OLDEST: Age = 32_000;

/// The desired state of the claims of one template. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Want {
    /// The size in Gi.
    pub size: u8,
    /// The attributes class.
    pub class: u8,
    /// The value of the label `tier`.
    pub tier: u8,
    /// The StorageClass; 0 is the default one.
    pub storage_class: u8,
}

/// A list of templates, and which staging of it this is. It is also its own revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelTarget {
    /// The templates, padded.
    pub wants: [Want; TEMPLATES],
    /// The number of templates.
    pub templates: u8,
    /// The staging; 0 where nothing is staged, as in live templates.
    pub staging: u8,
}

/// The annotation `staged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StagedAnnotation {
    pub(crate) target: ModelTarget,
    pub(crate) complete: bool,
    /// The replicas of the set when the change was staged.
    pub(crate) replicas: u8,
    pub(crate) policy: UpdatePolicy,
    /// The uid of the set that it belongs to.
    pub(crate) uid: Uid,
    /// A newer version wrote it, so it cannot be read.
    pub(crate) newer: bool,
}

/// A StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetObject {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    pub(crate) terminating: bool,
    /// Another controller owns the set.
    pub(crate) owned: bool,
    /// The set has a `maxUnavailable`.
    pub(crate) max_unavailable: bool,
    /// Seconds since a user staged the change: the managed fields contain the time.
    pub(crate) since_staged: Age,
    pub(crate) spec: SetObjectSpec,
    pub(crate) status: SetObjectStatus,
}

/// The spec and the annotations of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetObjectSpec {
    pub(crate) replicas: u8,
    /// The image of the Pod template.
    pub(crate) image: u8,
    pub(crate) live: ModelTarget,
    pub(crate) staged: Option<StagedAnnotation>,
    pub(crate) policy: Option<UpdatePolicy>,
    pub(crate) paused: bool,
    /// `sync: Async`
    pub(crate) asynchronous: bool,
    pub(crate) partition: u8,
    /// The annotation `ready`: target and ordinal.
    pub(crate) ready: Option<(ModelTarget, u8)>,
    /// The annotation `withdraw`.
    pub(crate) withdraw: Option<ModelTarget>,
    /// `updateStrategy: OnDelete`
    pub(crate) on_delete: bool,
    /// `podManagementPolicy: Parallel`
    pub(crate) parallel: bool,
    /// `max-in-motion`
    pub(crate) in_motion: u8,
    /// `whenScaled: Delete`
    pub(crate) when_scaled: bool,
    /// `whenDeleted: Delete`
    pub(crate) when_deleted: bool,
    pub(crate) min_ready: u8,
}

/// The status of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SetObjectStatus {
    /// `observedGeneration` is current.
    pub(crate) observed: bool,
    pub(crate) update: u8,
    pub(crate) current: u8,
    pub(crate) replicas: u8,
    pub(crate) ready: u8,
    pub(crate) updated: u8,
}

/// The health of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum PodHealth {
    /// It runs.
    #[default]
    Running,
    /// The Pod has the condition `DisruptionTarget`.
    Disrupted,
    /// Its phase is `Failed`.
    Failed,
}

/// A Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PodObject {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    /// The uid of the set that controls the Pod; 0 is none.
    pub(crate) set: Uid,
    pub(crate) image: u8,
    /// Seconds since the Pod became Ready.
    pub(crate) ready: Option<Age>,
    pub(crate) terminating: bool,
    /// The disk is full: the Pod becomes Ready again when its first claim has more than this capacity.
    pub(crate) full: u8,
    /// Seconds since the creation.
    pub(crate) age: Age,
    pub(crate) health: PodHealth,
}

/// A ClaimRollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReportObject {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    pub(crate) set: Uid,
    /// The contents, as a number.
    pub(crate) content: u32,
    /// The reported target, and the seconds since it was first seen.
    pub(crate) target: Option<ModelTarget>,
    pub(crate) started: Age,
}

/// Claims by slot.
pub(crate) type ClaimsBySlot = Arc<[Option<ClaimObject>; SLOTS]>;
/// Pods by ordinal.
pub(crate) type PodsByOrdinal = Arc<[Option<PodObject>; ORDINALS]>;

/// The slot of a claim.
pub(crate) const fn slot(template: usize, ordinal: usize) -> usize {
    template * ORDINALS + ordinal
}

/// The template and the ordinal of a slot.
pub(crate) fn place(slot: usize) -> (usize, usize) {
    (slot / ORDINALS, slot % ORDINALS)
}

impl Want {
    pub(crate) const fn size(size: u8) -> Self {
        Self {
            size,
            class: 0,
            tier: 0,
            storage_class: 0,
        }
    }
}

impl ModelTarget {
    /// A staging that the policy has just computed, before it gets a number.
    pub(crate) const NEW: u8 = u8::MAX;

    /// The target with these templates.
    pub(crate) fn of(wants: &[Want]) -> Self {
        let mut target = Self::default();
        for (place, want) in target.wants.iter_mut().zip(wants) {
            *place = *want;
            target.templates += 1;
        }
        target
    }

    /// The templates alone.
    pub(crate) fn unstaged(self) -> Self {
        Self { staging: 0, ..self }
    }

    /// The templates.
    pub(crate) fn wants(&self) -> &[Want] {
        &self.wants[..usize::from(self.templates)]
    }
}

impl StagedAnnotation {
    pub(crate) fn phase(&self) -> Phase {
        if self.complete {
            Phase::Complete
        } else {
            Phase::RollingOut
        }
    }
}

impl SetObject {
    /// The staged change, if it can be read and belongs to this set.
    pub(crate) fn staged_change(&self) -> Option<&StagedAnnotation> {
        let staged = self.spec.staged.as_ref();
        staged.filter(|change| change.uid == self.uid && !change.newer)
    }

    /// The staged change, if it cannot be read as one of this set.
    pub(crate) fn unreadable(&self) -> Option<&StagedAnnotation> {
        let staged = self.spec.staged.as_ref();
        staged.filter(|_| self.staged_change().is_none())
    }

    /// The replicas whose claims the rollout follows: also those that were scaled away since the change was staged.
    pub(crate) fn followed(&self) -> u8 {
        let staged = self.staged_change().filter(|change| !change.complete);
        staged.map_or(0, |change| change.replicas).max(self.spec.replicas)
    }

    /// The update policy in force.
    pub(crate) fn policy(&self) -> UpdatePolicy {
        let staged = self.staged_change().map(|change| change.policy);
        self.spec.policy.or(staged).unwrap_or_default()
    }

    /// What a controller that has nothing left to do still watches, as `controller::memory::settled::Basis`: everything but the
    /// status.
    pub(crate) fn basis(&self) -> Self {
        Self {
            version: 0,
            since_staged: 0,
            status: SetObjectStatus::default(),
            ..*self
        }
    }

    /// Time passes since the change was staged.
    pub(crate) fn age(&mut self, seconds: Age) {
        self.since_staged = self.since_staged.saturating_add(seconds).min(OLDEST);
    }

    /// `minReadySeconds`
    pub(crate) fn min_ready(&self) -> Age {
        self.spec.min_ready.into()
    }
}
