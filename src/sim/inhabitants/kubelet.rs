//! The kubelet, and the protection of claims that are in use.

use super::storage::Driver;
use crate::sim::api::Api;
use crate::sim::objects::{Lot, Resize, TEMPLATES, slot};

/// Does one thing for the Pod of an ordinal; or lets go of claims that no Pod uses any more.
pub(crate) fn step(api: &mut Api, driver: &Driver, ordinal: usize) -> bool {
    let slots = (0..TEMPLATES).map(|template| slot(template, ordinal));
    let Some(pod) = api.pods[ordinal] else {
        return let_go(api, ordinal);
    };
    if pod.terminating {
        api.put_pod(ordinal, None);
        return true;
    }
    match pod.lot {
        Lot::Runs => {}
        // Whoever takes it away deletes it.
        Lot::Disrupted => return api.edit_pod(ordinal, |pod| pod.terminating = true),
        Lot::Failed => return false,
    }
    let templates = api.set.map_or(TEMPLATES, |set| usize::from(set.spec.live.templates));
    let mut mounted = slots.take(templates).map(|slot| (slot, api.claims[slot]));
    if !mounted.all(|(_, claim)| claim.is_some_and(|claim| claim.bound)) {
        return false;
    }
    for slot in (0..templates).map(|template| slot(template, ordinal)) {
        // The file system is grown while it is mounted, or when it is mounted again.
        let now = !driver.needs_remount || pod.ready.is_none();
        let grown = api.edit_claim(slot, |claim| {
            match claim.resize {
                Resize::Node if now => claim.has_grown(),
                // Every kubelet tries, and writes the driver's answer: `node_expander.go`.
                Resize::Node => claim.errors.node = true,
                _ => {}
            }
        });
        if grown {
            return true;
        }
    }
    let full = api.claims[slot(0, ordinal)].is_some_and(|claim| claim.capacity <= pod.full);
    if pod.ready.is_none() && !full {
        return api.edit_pod(ordinal, |pod| pod.ready = Some(0));
    }
    false
}

/// A claim that is being deleted goes when no Pod uses it.
fn let_go(api: &mut Api, ordinal: usize) -> bool {
    let mut slots = (0..TEMPLATES).map(|template| slot(template, ordinal));
    slots.any(|slot| release(api, slot))
}

/// Lets go of one that no Pod of somebody else uses.
pub(crate) fn release(api: &mut Api, slot: usize) -> bool {
    let unused = api.strangers & 1 << slot == 0;
    let goes = unused && api.claims[slot].is_some_and(|claim| claim.terminating);
    if goes {
        api.put_claim(slot, None);
    }
    goes
}
