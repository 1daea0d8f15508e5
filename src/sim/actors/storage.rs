//! The provisioner and the resizer of a CSI driver.

use crate::sim::api::Api;
use crate::sim::objects::{ClaimObject, ModifyState, ResizeState, place};

/// The capabilities of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    /// The largest volume, in Gi.
    pub(crate) limit: u8,
    /// An attributes class that the driver does not know; 0 is none.
    pub(crate) bad_class: u8,
    /// The node expands the file system.
    pub(crate) needs_node: bool,
    /// The node expands the file system only at the next mount.
    pub(crate) needs_remount: bool,
    /// `volumeBindingMode: WaitForFirstConsumer`
    pub(crate) first_consumer: bool,
    /// The first attempt of each change fails.
    pub(crate) fails_first: bool,
    /// Volumes that a Pod uses cannot be expanded.
    pub(crate) offline: bool,
}

/// One step of the resizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resizing {
    /// It writes that it has started.
    Begin,
    /// The driver returns an error that is retried: `Internal`, or any other that is not infeasible.
    Fail,
    /// The change succeeds.
    Finish,
    /// A part of the change succeeds.
    Partly,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            limit: u8::MAX,
            bad_class: 0,
            needs_node: false,
            needs_remount: false,
            first_consumer: false,
            fails_first: false,
            offline: false,
        }
    }
}

/// Binds a volume to a claim that has none.
pub(crate) fn provision(api: &mut Api, driver: &Driver, slot: usize) -> bool {
    let consumer = api.pods[place(slot).1].is_some();
    let Some(claim) = api.claims[slot] else {
        return false;
    };
    if claim.bound || claim.terminating || (driver.first_consumer && !consumer) || claim.request > driver.limit {
        return false;
    }
    api.edit_claim(slot, |claim| {
        claim.bound = true;
        claim.capacity = claim.request;
        claim.current_class = claim.class;
    })
}

/// One step for a claim that requests a larger size or another class.
pub(crate) fn resize(api: &mut Api, driver: &Driver, slot: usize, how: Resizing) -> bool {
    let Some(claim) = api.claims[slot].filter(|claim| claim.bound) else {
        return false;
    };
    let wants_size = claim.request > claim.capacity;
    let wants_class = claim.class != claim.current_class;
    let pod = api.pods[place(slot).1].is_some();
    let driver = *driver;
    api.edit_claim(slot, |claim| {
        let how = |failed: bool| match how {
            Resizing::Finish if driver.fails_first && !failed => Resizing::Fail,
            how => how,
        };
        if wants_size {
            expand(claim, &driver, how(claim.errors.controller), pod);
        } else {
            claim.has_grown();
        }
        if wants_class {
            modify(claim, &driver, how(claim.errors.modify));
        } else {
            (claim.modify, claim.errors.modify) = (ModifyState::None, false);
            claim.modify_to = 0;
        }
    })
}

/// `expand_and_recover.go` and `resize_status.go` of external-resizer.
fn expand(claim: &mut ClaimObject, driver: &Driver, how: Resizing, pod: bool) {
    if claim.resize != ResizeState::Node {
        claim.resize_to = claim.request;
    }
    let how = if driver.offline && pod { Resizing::Fail } else { how };
    match how {
        _ if claim.request > driver.limit => {
            (claim.resize, claim.errors.controller) = (ResizeState::ControllerInfeasible, true);
        }
        // The node does the rest.
        Resizing::Begin | Resizing::Fail if claim.resize == ResizeState::Node => {}
        Resizing::Begin => claim.resize = ResizeState::Controller,
        Resizing::Fail => (claim.resize, claim.errors.controller) = (ResizeState::Controller, true),
        // `markForPendingNodeExpansion` keeps the error of the previous attempt.
        Resizing::Finish if driver.needs_node && pod => claim.resize = ResizeState::Node,
        Resizing::Finish => claim.has_grown(),
        Resizing::Partly if claim.capacity + 1 < claim.request => claim.capacity += 1,
        Resizing::Partly => {}
    }
}

/// `modify_status.go` of external-resizer.
fn modify(claim: &mut ClaimObject, driver: &Driver, how: Resizing) {
    claim.modify_to = claim.class;
    match how {
        _ if claim.class == driver.bad_class => (claim.modify, claim.errors.modify) = (ModifyState::Infeasible, true),
        Resizing::Begin if claim.modify == ModifyState::None => claim.modify = ModifyState::Pending,
        Resizing::Begin | Resizing::Partly => claim.modify = ModifyState::InProgress,
        Resizing::Fail => (claim.modify, claim.errors.modify) = (ModifyState::InProgress, true),
        Resizing::Finish => {
            (claim.current_class, claim.modify) = (claim.class, ModifyState::None);
            (claim.modify_to, claim.errors.modify) = (0, false);
        }
    }
}
