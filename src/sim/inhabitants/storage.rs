//! The provisioner and the resizer of a CSI driver.

use crate::sim::api::Api;
use crate::sim::objects::{Modify, Resize, place};

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
}

/// What the resizer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resizing {
    /// It takes notice.
    Begin,
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
        if wants_size {
            match how {
                _ if claim.request > driver.limit => claim.resize = Resize::ControllerInfeasible,
                Resizing::Begin if claim.resize != Resize::Node => claim.resize = Resize::Controller,
                Resizing::Finish if driver.needs_node && pod => claim.resize = Resize::Node,
                Resizing::Finish => (claim.capacity, claim.resize) = (claim.request, Resize::None),
                Resizing::Partly if claim.capacity + 1 < claim.request => claim.capacity += 1,
                Resizing::Begin | Resizing::Partly => {}
            }
        } else {
            claim.resize = Resize::None;
        }
        if !wants_class {
            claim.modify = Modify::None;
        } else if claim.class == driver.bad_class {
            claim.modify = Modify::Infeasible;
        } else {
            match how {
                Resizing::Begin if claim.modify == Modify::None => claim.modify = Modify::Pending,
                Resizing::Begin | Resizing::Partly => claim.modify = Modify::InProgress,
                Resizing::Finish => (claim.current_class, claim.modify) = (claim.class, Modify::None),
            }
        }
    })
}
