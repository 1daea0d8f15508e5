//! The objects of the model: only fields that matter, small enough to be copied and hashed millions of times.
//!
//! One set `web` with at most two templates and five replicas. Sizes are whole Gi, classes and labels are numbers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::templates::{Phase, UpdatePolicy};

/// The most replicas of a set.
pub(crate) const ORDINALS: usize = 5;
/// The most templates of a set.
pub(crate) const TEMPLATES: usize = 2;
/// Places of claims: template by template, ordinal by ordinal.
pub(crate) const SLOTS: usize = ORDINALS * TEMPLATES;

/// A uid; none is given twice.
pub(crate) type Uid = u16;
/// A resourceVersion.
pub(crate) type Version = u16;
/// Seconds; what is longer than an hour and a half is as long as that.
pub(crate) type Age = i16;

/// What is wished of the claims of one template. Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Want {
    /// Gi.
    pub size: u8,
    /// The attributes class.
    pub class: u8,
    /// The value of the label `tier`.
    pub tier: u8,
}

/// A list of templates. It is its own revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Template by template.
    pub wants: [Want; TEMPLATES],
    /// How many there are.
    pub templates: u8,
}

/// The annotation `staged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StagedChange {
    pub(crate) target: Target,
    pub(crate) complete: bool,
    pub(crate) policy: UpdatePolicy,
    /// The uid of the set that it was made for.
    pub(crate) uid: Uid,
}

/// A StatefulSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    pub(crate) terminating: bool,
    /// Another controller owns it.
    pub(crate) owned: bool,
    /// The API server has given it a `maxUnavailable`.
    pub(crate) max_unavailable: bool,
    pub(crate) spec: SetSpec,
    pub(crate) status: SetStatus,
}

/// What users write in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetSpec {
    pub(crate) replicas: u8,
    /// What Pods run: the Pod template.
    pub(crate) image: u8,
    pub(crate) live: Target,
    pub(crate) staged: Option<StagedChange>,
    pub(crate) policy: Option<UpdatePolicy>,
    pub(crate) paused: bool,
    /// `sync: Async`
    pub(crate) asynchronous: bool,
    pub(crate) partition: u8,
    /// The annotation `ready`: a wish and an ordinal.
    pub(crate) ready: Option<(Target, u8)>,
    /// `withdraw` names this revision.
    pub(crate) withdraw: Option<Target>,
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

/// What the StatefulSet controller writes in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SetStatus {
    /// `observedGeneration` is the generation.
    pub(crate) observed: bool,
    pub(crate) update: u8,
    pub(crate) current: u8,
    pub(crate) replicas: u8,
    pub(crate) ready: u8,
    pub(crate) updated: u8,
}

/// Who owns a claim, as its controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    #[default]
    Nobody,
    Set(Uid),
    Pod(Uid),
    Stranger,
}

/// How far a resize has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Resize {
    /// There is none.
    #[default]
    None,
    /// `ControllerResizeInProgress`
    Controller,
    /// `ControllerResizeInfeasible`
    ControllerInfeasible,
    /// `NodeResizePending`
    Node,
}

/// How far a change of the attributes class has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Modify {
    /// There is none.
    #[default]
    None,
    /// `Pending`
    Pending,
    /// `InProgress`
    InProgress,
    /// `Infeasible`
    Infeasible,
}

/// The conditions of a claim that say that something went wrong and is tried again. They stay until it went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Errors {
    /// `ControllerResizeError`
    pub(crate) controller: bool,
    /// `NodeResizeError`
    pub(crate) node: bool,
    /// `ModifyVolumeError`
    pub(crate) modify: bool,
}

impl Errors {
    /// The types of the conditions.
    pub(crate) fn kinds(self) -> impl Iterator<Item = &'static str> {
        let Self {
            controller,
            node,
            modify,
        } = self;
        let kinds = [
            (controller, "ControllerResizeError"),
            (node, "NodeResizeError"),
            (modify, "ModifyVolumeError"),
        ];
        kinds.into_iter().filter_map(|(is, kind)| is.then_some(kind))
    }
}

/// What our field manager owns of a field. Where an apply repeats a value, all that gave it own it; where it changes the
/// value, the others lose it. What an apply leaves out goes, unless another owns it as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    #[default]
    None,
    /// Nobody owns it: the policy added it to the claim at its birth.
    Nobodys,
    Shared,
    Alone,
}

impl Share {
    /// Our field manager owns it.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Shared | Self::Alone)
    }
}

/// A PersistentVolumeClaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    /// The label `claim-rollout.io/revision`.
    pub(crate) revision: Option<Target>,
    pub(crate) tier: u8,
    /// The selector's labels are there.
    pub(crate) selected: bool,
    pub(crate) owner: Owner,
    pub(crate) terminating: bool,
    pub(crate) bound: bool,
    pub(crate) request: u8,
    pub(crate) capacity: u8,
    pub(crate) class: u8,
    pub(crate) current_class: u8,
    /// Our field manager alone owns the size.
    pub(crate) our_size: bool,
    /// What our field manager owns of fields that an apply may leave out.
    pub(crate) our_class: Share,
    pub(crate) our_tier: Share,
    pub(crate) resize: Resize,
    pub(crate) modify: Modify,
    pub(crate) errors: Errors,
}

/// What becomes of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Lot {
    /// It runs.
    #[default]
    Runs,
    /// Somebody takes it away: the condition `DisruptionTarget` says so.
    Disrupted,
    /// Its phase is `Failed`.
    Failed,
}

/// A Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pod {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    /// The uid of the set that controls it; zero is nobody.
    pub(crate) set: Uid,
    pub(crate) image: u8,
    /// For how long it has been Ready.
    pub(crate) ready: Option<Age>,
    pub(crate) terminating: bool,
    /// Its disk is full: it is Ready again when its first claim has more than this.
    pub(crate) full: u8,
    /// How long ago it was made.
    pub(crate) age: Age,
    pub(crate) lot: Lot,
}

/// A ClaimRollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Report {
    pub(crate) version: Version,
    pub(crate) set: Uid,
    /// What it says, by number.
    pub(crate) says: u32,
    /// The wish that it is about, and how long ago that was first seen.
    pub(crate) target: Option<Target>,
    pub(crate) started: Age,
}

/// Claims by slot.
pub(crate) type Claims = Arc<[Option<Claim>; SLOTS]>;
/// Pods by ordinal.
pub(crate) type Pods = Arc<[Option<Pod>; ORDINALS]>;

/// The slot of a claim.
pub(crate) fn slot(template: usize, ordinal: usize) -> usize {
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
        }
    }
}

impl Target {
    /// The wish for these templates.
    pub(crate) fn of(wants: &[Want]) -> Self {
        let mut target = Self::default();
        for (place, want) in target.wants.iter_mut().zip(wants) {
            *place = *want;
            target.templates += 1;
        }
        target
    }

    /// The templates that there are.
    pub(crate) fn wants(&self) -> &[Want] {
        &self.wants[..usize::from(self.templates)]
    }
}

impl StagedChange {
    pub(crate) fn phase(&self) -> Phase {
        if self.complete {
            Phase::Complete
        } else {
            Phase::RollingOut
        }
    }
}

impl Set {
    /// The record, if it is one of this set.
    pub(crate) fn staged_change(&self) -> Option<&StagedChange> {
        self.spec.staged.as_ref().filter(|change| change.uid == self.uid)
    }

    /// What applies to the set.
    pub(crate) fn policy(&self) -> UpdatePolicy {
        let staged = self.staged_change().map(|change| change.policy);
        self.spec.policy.or(staged).unwrap_or_default()
    }

    /// How long a Pod is Ready before it is available.
    pub(crate) fn min_ready(&self) -> Age {
        self.spec.min_ready.into()
    }
}

impl Claim {
    /// A claim as the StatefulSet controller asks for it.
    pub(crate) fn new(uid: Uid, version: Version, want: Want) -> Self {
        Self {
            uid,
            version,
            revision: None,
            tier: want.tier,
            selected: true,
            owner: Owner::Nobody,
            terminating: false,
            bound: false,
            request: want.size,
            capacity: 0,
            class: want.class,
            current_class: 0,
            our_size: false,
            our_class: Share::None,
            our_tier: Share::None,
            resize: Resize::None,
            modify: Modify::None,
            errors: Errors::default(),
        }
    }

    /// It has the size that it asks for: `MarkFSResizeFinished`, which drops every error on the way.
    pub(crate) fn has_grown(&mut self) {
        (self.capacity, self.resize) = (self.request.max(self.capacity), Resize::None);
        (self.errors.controller, self.errors.node) = (false, false);
    }

    /// What the policy added to a claim that is being made is owned by nobody; what it changed, by whoever asked for it.
    pub(crate) fn owned_since_created(&mut self, asked: &Self) {
        if asked.class == 0 && self.class != 0 {
            self.our_class = Share::Nobodys;
        }
        if asked.tier == 0 && self.tier != 0 {
            self.our_tier = Share::Nobodys;
        }
    }

    /// It carries the revision, and all that was asked for with it was stored.
    pub(crate) fn is_at(&self, target: Option<Target>, template: usize) -> bool {
        self.revision == target && target.is_none_or(|target| !self.was_dropped(target.wants[template]))
    }

    /// The label of an apply of ours was stored and its size or class was not, as `rollout::readiness` has it.
    fn was_dropped(&self, want: Want) -> bool {
        let smaller = self.our_size && self.request < want.size;
        let another = self.class == 0 || self.our_class.is_ours() && self.class != want.class;
        smaller || want.class != 0 && another
    }

    /// The driver has said no.
    pub(crate) fn is_infeasible(&self) -> bool {
        self.resize == Resize::ControllerInfeasible || self.modify == Modify::Infeasible
    }
}
