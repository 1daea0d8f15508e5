//! A PersistentVolumeClaim of the model.

use serde::{Deserialize, Serialize};

use super::{ModelTarget, Uid, Version, Want};

/// The controller that owns a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ClaimOwner {
    #[default]
    None,
    Set(Uid),
    Pod(Uid),
    Other,
}

/// The progress of a resize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResizeState {
    /// No resize.
    #[default]
    None,
    /// `ControllerResizeInProgress`
    Controller,
    /// `ControllerResizeInfeasible`
    ControllerInfeasible,
    /// `NodeResizePending`
    Node,
}

/// The progress of a change of the attributes class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ModifyState {
    /// No change.
    #[default]
    None,
    /// `Pending`
    Pending,
    /// `InProgress`
    InProgress,
    /// `Infeasible`
    Infeasible,
}

/// The error conditions of a claim. Each stays until the change succeeds.
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

/// How far our field manager owns a field. Managers that apply the same value share a field; a manager that changes
/// the value takes it from the others. A field that is left out of an apply is removed, unless another manager owns
/// it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    #[default]
    None,
    /// No manager owns the field: the policy added it when the claim was created.
    Unowned,
    Shared,
    Alone,
}

impl Share {
    /// Whether our field manager owns the field.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Shared | Self::Alone)
    }
}

/// A PersistentVolumeClaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClaimObject {
    pub(crate) uid: Uid,
    pub(crate) version: Version,
    /// The label `claim-rollout.io/revision`.
    pub(crate) revision: Option<ModelTarget>,
    pub(crate) tier: u8,
    /// The claim has the selector's labels.
    pub(crate) selected: bool,
    pub(crate) owner: ClaimOwner,
    pub(crate) terminating: bool,
    pub(crate) bound: bool,
    pub(crate) request: u8,
    pub(crate) capacity: u8,
    pub(crate) class: u8,
    pub(crate) current_class: u8,
    /// The StorageClass, which never changes.
    pub(crate) storage_class: u8,
    /// Only our field manager owns the size.
    pub(crate) our_size: bool,
    /// The ownership of fields that an apply may leave out.
    pub(crate) our_class: Share,
    pub(crate) our_tier: Share,
    pub(crate) resize: ResizeState,
    /// The size that `resize` is about; 0 without one.
    pub(crate) resize_to: u8,
    pub(crate) modify: ModifyState,
    /// The class that `modify` is about.
    pub(crate) modify_to: u8,
    pub(crate) errors: Errors,
}

impl ClaimObject {
    /// A claim as the StatefulSet controller requests it.
    pub(crate) fn new(uid: Uid, version: Version, want: Want) -> Self {
        Self {
            uid,
            version,
            revision: None,
            tier: want.tier,
            selected: true,
            owner: ClaimOwner::None,
            terminating: false,
            bound: false,
            request: want.size,
            capacity: 0,
            class: want.class,
            current_class: 0,
            storage_class: want.storage_class,
            our_size: false,
            our_class: Share::None,
            our_tier: Share::None,
            resize: ResizeState::None,
            resize_to: 0,
            modify: ModifyState::None,
            modify_to: 0,
            errors: Errors::default(),
        }
    }

    /// The resize is done: `MarkFSResizeFinished`, which removes all errors.
    pub(crate) fn has_grown(&mut self) {
        (self.capacity, self.resize) = (self.request.max(self.capacity), ResizeState::None);
        self.resize_to = 0;
        (self.errors.controller, self.errors.node) = (false, false);
    }

    /// Fields that the policy adds to a new claim have no manager; fields that it changes belong to the requester.
    pub(crate) fn owned_since_created(&mut self, asked: &Self) {
        if asked.class == 0 && self.class != 0 {
            self.our_class = Share::Unowned;
        }
        if asked.tier == 0 && self.tier != 0 {
            self.our_tier = Share::Unowned;
        }
    }

    /// The Gi that a quota counts: the request, or `status.allocatedResources` if that is larger. It keeps the last
    /// size after the resize, which is the capacity.
    pub(crate) fn counted(&self) -> u8 {
        self.request.max(self.resize_to).max(self.capacity)
    }

    /// Whether the claim carries the revision and everything that was applied with it.
    pub(crate) fn is_at(&self, target: Option<ModelTarget>, template: usize) -> bool {
        self.revision == target && target.is_none_or(|target| !self.was_dropped(target.wants[template]))
    }

    /// Whether only the label of an apply of ours was stored, as in `gate::readiness`.
    fn was_dropped(&self, want: Want) -> bool {
        let smaller = self.our_size && self.request < want.size;
        let another = self.our_class.is_ours() && self.class != want.class;
        smaller || want.class != 0 && another && !self.is_of_another_driver(want)
    }

    /// Whether somebody lowered the claim below its template, or removed its class.
    pub(crate) fn asks_for_less(&self, target: Option<ModelTarget>, template: usize) -> bool {
        let less = |want: Want| want.size > self.request.max(self.capacity);
        let unclassed = |want: Want| want.class != 0 && self.class == 0 && !self.is_of_another_driver(want);
        target.is_some_and(|target| less(target.wants[template]) || unclassed(target.wants[template]))
    }

    /// Whether the template has another StorageClass: its attributes class is for another driver.
    pub(crate) fn is_of_another_driver(&self, want: Want) -> bool {
        want.storage_class != 0 && want.storage_class != self.storage_class
    }

    /// Whether the driver reports that what the claim requests is infeasible. The statuses stay after another request,
    /// until the driver looks at that.
    pub(crate) fn is_infeasible(&self) -> bool {
        let has_class = self.class == self.current_class;
        let cannot_grow = self.resize == ResizeState::ControllerInfeasible && self.resize_to == self.request;
        let cannot_change = self.modify == ModifyState::Infeasible && self.modify_to == self.class;
        cannot_grow || cannot_change && !has_class
    }
}
