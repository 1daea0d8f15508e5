//! The provisioner and the resizer of a CSI driver.

use crate::sim::api::Api;
use crate::sim::objects::{Claim, Modify, Resize, place};

/// What the driver can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    /// The largest volume.
    pub(crate) limit: u8,
    /// An attributes class that it does not know; zero is none.
    pub(crate) bad_class: u8,
    /// The file system is grown by the node.
    pub(crate) needs_node: bool,
    /// It is grown only when the volume is mounted again.
    pub(crate) needs_remount: bool,
    /// `volumeBindingMode: WaitForFirstConsumer`
    pub(crate) first_consumer: bool,
    /// Each first attempt fails.
    pub(crate) fails_first: bool,
}

/// What the resizer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resizing {
    /// It takes notice.
    Begin,
    /// The driver fails, and will be asked again: `Internal`, or any other answer that is not infeasible.
    Fail,
    /// It ends.
    Finish,
    /// It gives a part of what is asked for.
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
        }
    }
}

/// Makes a volume for a claim that has none.
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

/// Does something for a claim that asks for more than it has, or for another class.
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
            (claim.modify, claim.errors.modify) = (Modify::None, false);
        }
    })
}

/// `expand_and_recover.go` and `resize_status.go` of external-resizer.
fn expand(claim: &mut Claim, driver: &Driver, how: Resizing, pod: bool) {
    match how {
        _ if claim.request > driver.limit => {
            (claim.resize, claim.errors.controller) = (Resize::ControllerInfeasible, true);
        }
        // It is the node's turn.
        Resizing::Begin | Resizing::Fail if claim.resize == Resize::Node => {}
        Resizing::Begin => claim.resize = Resize::Controller,
        Resizing::Fail => (claim.resize, claim.errors.controller) = (Resize::Controller, true),
        // `markForPendingNodeExpansion` keeps the error of an attempt before.
        Resizing::Finish if driver.needs_node && pod => claim.resize = Resize::Node,
        Resizing::Finish => claim.has_grown(),
        Resizing::Partly if claim.capacity + 1 < claim.request => claim.capacity += 1,
        Resizing::Partly => {}
    }
}

/// `modify_status.go` of external-resizer.
fn modify(claim: &mut Claim, driver: &Driver, how: Resizing) {
    match how {
        _ if claim.class == driver.bad_class => (claim.modify, claim.errors.modify) = (Modify::Infeasible, true),
        Resizing::Begin if claim.modify == Modify::None => claim.modify = Modify::Pending,
        Resizing::Begin | Resizing::Partly => claim.modify = Modify::InProgress,
        Resizing::Fail => (claim.modify, claim.errors.modify) = (Modify::InProgress, true),
        Resizing::Finish => {
            (claim.current_class, claim.modify) = (claim.class, Modify::None);
            claim.errors.modify = false;
        }
    }
}
