//! When a rollout last made progress: a PVC or a Pod reached a state that it had not reached before in this rollout. A driver
//! that fails and tries again, or a Pod that is Ready and not Ready in turns, reaches nothing new.

use super::assessment::At;
use super::milestones::Milestones;
use super::replica;
use super::replica::Replica;
use super::snapshot::Snapshot;
use crate::api::Seconds;
use crate::gate::{ClaimState, Target};

/// A Pod has the update revision.
const UPDATED: u16 = 1;
/// A Pod with the update revision is available.
const AVAILABLE: u16 = 1 << 1;

/// What a rollout has reached, and when it last reached something new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advance {
    /// What it has reached.
    pub milestones: Milestones,
    /// When it reached something new.
    pub moved: Seconds,
}

impl Advance {
    /// What is reached now. `all` are the replicas in range, and those that were scaled away.
    #[must_use]
    pub fn of(snapshot: &Snapshot, target: &Target<'_>, all: &[Replica<'_>]) -> Self {
        let label = Some(target.label.clone());
        let previous = snapshot.reported(&target.label.revision);
        let known = Some(&snapshot.milestones).filter(|known| known.label == label);
        let mut states = known.map(|known| known.states.clone()).unwrap_or_default();
        let mut is_new = false;
        for (name, state) in present(snapshot, all) {
            let before = states.get(&name).copied().or_else(|| {
                // Another controller has reported it. PVCs that are ready are not listed.
                let listed = previous.and_then(|previous| previous.claims.get(&name));
                let listed = listed.map(|(state, ..)| ClaimState::read(state).map_or(0, bit));
                known.is_none().then(|| listed.unwrap_or(state))
            });
            let before = before.unwrap_or_default();
            is_new |= state & !before != 0;
            states.insert(name, before | state);
        }
        // A clock that was ahead must not put off the progress deadline.
        let moved = previous.and_then(|previous| previous.moved);
        let moved = moved.map(|moved| moved.min(snapshot.now));
        Self {
            milestones: Milestones { label, states },
            moved: moved.filter(|_| !is_new).unwrap_or(snapshot.now),
        }
    }
}

/// The present states of the PVCs and Pods, by name.
fn present<'s>(snapshot: &'s Snapshot, all: &'s [Replica<'s>]) -> impl Iterator<Item = (String, u16)> + 's {
    let claims = all.iter().flat_map(|replica| &replica.claims);
    let claims = claims.map(|claim| (claim.name.to_string(), bit(claim.state)));
    let pods = replica::in_range(all).iter().map(|replica| {
        let set = &snapshot.set;
        let pod = replica.pod.filter(|_| replica.pod_at == At::Updated);
        let is_available = pod.is_some_and(|pod| pod.is_available(snapshot.now, set.min_ready_seconds));
        let state = u16::from(pod.is_some()) * UPDATED + u16::from(is_available) * AVAILABLE;
        // No PVC has such a name.
        (format!("Pod {}-{}", set.name, replica.ordinal), state)
    });
    claims.chain(pods)
}

/// The bit of a state that is progress when it is reached first. A state that needs a person is none.
const fn bit(state: ClaimState) -> u16 {
    match state {
        ClaimState::Pending | ClaimState::Refused | ClaimState::Foreign | ClaimState::Infeasible => 0,
        _ => 1 << state as u16,
    }
}
