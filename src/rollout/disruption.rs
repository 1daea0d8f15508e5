//! Whether a Pod may be taken away now: every other replica must be there, so that no two are away because of us.
//!
//! Who evicts a Pod asks this, whatever the reason of the eviction. The eviction API also respects
//! PodDisruptionBudgets.

use super::replica::Replica;
use super::snapshot::{PodView, Snapshot};
use crate::api::Seconds;
use crate::gate::ClaimState;

/// Why no Pod may be taken away now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away {
    /// The other Pod or PVC, and its state.
    pub why: String,
    /// When that ends, if it ends by itself: the Pod has then been Ready for `minReadySeconds`.
    pub until: Option<Seconds>,
}

/// Why the Pod with this ordinal may not be taken away; `None` if it may. `replicas` are all replicas of the set.
///
/// Every other Pod has to exist, to be Ready for `minReadySeconds`, and not to be terminating. Its PVCs have to be bound
/// and not to be terminating: a Pod with a terminating PVC does not come back with its data.
#[must_use]
pub fn away(snapshot: &Snapshot, replicas: &[Replica<'_>], ordinal: u32) -> Option<Away> {
    let mut others = replicas.iter().filter(|other| other.ordinal != ordinal);
    others.find_map(|other| {
        let pod = of_pod(snapshot, other.ordinal, other.pod);
        pod.or_else(|| of_old_pod(snapshot, other)).or_else(|| of_claims(other))
    })
}

/// Why the Pod of this replica is not there; `None` if it is available.
pub(super) fn of_pod(snapshot: &Snapshot, ordinal: u32, pod: Option<&PodView>) -> Option<Away> {
    let set = &snapshot.set;
    let name = set.pod_name(ordinal);
    let away = |why: &str, until| {
        let why = format!("Pod {name} {why}");
        Some(Away { why, until })
    };
    let Some(pod) = pod else {
        return away("does not exist", None);
    };
    if pod.deleted.is_some() {
        return away("is being deleted", None);
    }
    let Some(since) = pod.ready_since else {
        return away("is not Ready", None);
    };
    let until = since.saturating_add(set.min_ready_seconds);
    let why = format!("has not been Ready for {} seconds yet", set.min_ready_seconds);
    if pod.is_available(snapshot.now, set.min_ready_seconds) {
        return None;
    }
    away(&why, Some(until))
}

/// A Pod that does not exist any more, although a late watch shows it.
fn of_old_pod(snapshot: &Snapshot, replica: &Replica<'_>) -> Option<Away> {
    let pod = replica.pod?;
    // The StatefulSet controller creates a Pod after its PVCs, so this Pod does not exist any more: its watch is late.
    let is_older = |pod: &PodView| {
        let mut claims = replica.claims.iter().filter_map(|claim| claim.claim);
        claims.any(|claim| claim.created > pod.created)
    };
    is_older(pod).then(|| Away {
        why: format!("Pod {}-{} is older than its PVC", snapshot.set.name, replica.ordinal),
        until: None,
    })
}

fn of_claims(replica: &Replica<'_>) -> Option<Away> {
    let is_away = |state| {
        matches!(
            state,
            ClaimState::Missing | ClaimState::Terminating | ClaimState::Unbound
        )
    };
    let claim = replica.claims.iter().find(|claim| is_away(claim.state))?;
    Some(Away {
        why: format!("{} is {}: {}", claim.name, claim.state, claim.message),
        until: None,
    })
}
