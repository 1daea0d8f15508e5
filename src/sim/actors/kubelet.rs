//! The kubelet, and the finalizer that protects claims in use.

use crate::sim::actors::storage::Driver;
use crate::sim::api::Api;
use crate::sim::objects::{PodHealth, ResizeState, TEMPLATES, slot};

/// One write for the Pod of an ordinal, or for the claims that it no longer uses.
pub(crate) fn step(api: &mut Api, driver: &Driver, ordinal: usize) -> bool {
    let slots = (0..TEMPLATES).map(|template| slot(template, ordinal));
    let Some(pod) = api.pods[ordinal] else {
        return release_all(api, ordinal);
    };
    if pod.terminating {
        api.put_pod(ordinal, None);
        return true;
    }
    match pod.health {
        PodHealth::Running => {}
        // The disruption controller deletes the Pod later.
        PodHealth::Disrupted => return api.edit_pod(ordinal, |pod| pod.terminating = true),
        PodHealth::Failed => return false,
    }
    let templates = api.set.map_or(TEMPLATES, |set| usize::from(set.spec.live.templates));
    let mut mounted = slots.take(templates).map(|slot| (slot, api.claims[slot]));
    if !mounted.all(|(_, claim)| claim.is_some_and(|claim| claim.bound)) {
        return false;
    }
    for slot in (0..templates).map(|template| slot(template, ordinal)) {
        // Some drivers expand the file system only at the next mount.
        let now = !driver.needs_remount || pod.ready.is_none();
        let grown = api.edit_claim(slot, |claim| {
            match claim.resize {
                ResizeState::Node if now => claim.has_grown(),
                // Every kubelet tries, and writes the error of the driver: `node_expander.go`.
                ResizeState::Node => claim.errors.node = true,
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

/// Releases a terminating claim that no Pod of the set uses.
fn release_all(api: &mut Api, ordinal: usize) -> bool {
    let mut slots = (0..TEMPLATES).map(|template| slot(template, ordinal));
    slots.any(|slot| release(api, slot))
}

/// Removes a terminating claim that no foreign Pod uses.
pub(crate) fn release(api: &mut Api, slot: usize) -> bool {
    let unused = api.foreign_mounts & 1 << slot == 0;
    let releases = unused && api.claims[slot].is_some_and(|claim| claim.terminating);
    if releases {
        api.put_claim(slot, None);
    }
    releases
}
