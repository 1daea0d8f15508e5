//! `claim-rollout.io/restart: WhenNodeExpansionPends`: evicts a Pod, so that its volumes are mounted again. Some
//! drivers expand a file system only then.

use super::action::{Evict, EvictReason};
use super::assessment::{At, ClaimAssessment};
use super::disruption;
use super::replica::Replica;
use super::snapshot::{PodView, Snapshot};
use crate::api::{Seconds, time};
use crate::gate::{ClaimState, SetView};
use crate::templates::Restart;

/// How many seconds the node gets to expand the file system: kubelet checks about once a minute.
pub const PATIENCE: Seconds = 60;

/// The Pod to evict now, if there is one.
///
/// # Guarantees
/// * A PVC of the Pod is updated, and its `FileSystemResizePending` has been true for [`PATIENCE`].
/// * The Pod is older than that condition: a Pod that was created since has mounted the volume again, and is not
///   evicted for it. Both times are of the cluster; clocks that differ by more than [`PATIENCE`] could evict a Pod
///   twice.
/// * Every other replica of the StatefulSet is there ([`disruption`]), so no two are away because of us.
/// * Nothing is evicted while the rollout is paused, and no Pod that Kubernetes replaces anyway.
#[must_use]
pub fn evict(snapshot: &Snapshot, replicas: &[Replica<'_>]) -> Option<Evict> {
    let denied = |denied: &(String, Seconds)| denied.1 > snapshot.now;
    if snapshot.not_evicted.as_ref().is_some_and(denied) {
        return None;
    }
    let is_due = |claim| pending_since(claim).is_some_and(|since| since.saturating_add(PATIENCE) <= snapshot.now);
    let may_go = |replica: &Replica<'_>| disruption::away(snapshot, replicas, replica.ordinal).is_none();
    // If one Pod is not Ready, no other may go.
    let (_, claim, pod) =
        candidates(snapshot, replicas).find(|(replica, claim, _)| is_due(claim) && may_go(replica))?;
    Some(Evict {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        claim: (
            claim.name.to_string(),
            claim.claim.map(|claim| claim.uid.clone()).unwrap_or_default(),
        ),
        reason: EvictReason::Remount,
    })
}

/// True iff the PVC waits for its node, and its Pod may be evicted for it.
pub(super) fn waits(set: &SetView, claim: &ClaimAssessment<'_>) -> bool {
    set.restart == Restart::WhenNodeExpansionPends && claim.state == ClaimState::NodeExpanding
}

/// When the next Pod may have to be evicted.
pub(super) fn due<'a>(snapshot: &'a Snapshot, replicas: &'a [Replica<'a>]) -> impl Iterator<Item = Seconds> {
    let pending = candidates(snapshot, replicas).filter_map(|(_, claim, _)| pending_since(claim));
    let due = pending.map(|since| since.saturating_add(PATIENCE));
    due.chain(snapshot.not_evicted.as_ref().map(|(_, retry_at)| *retry_at))
}

/// Replicas whose Pod may be evicted, highest ordinal first, each with a PVC that its node has to expand.
fn candidates<'a>(
    snapshot: &'a Snapshot,
    replicas: &'a [Replica<'a>],
) -> impl Iterator<Item = (&'a Replica<'a>, &'a ClaimAssessment<'a>, &'a PodView)> {
    let set = &snapshot.set;
    let may = !set.paused && set.status_is_current && set.replaces_pods();
    let on = set.restart == Restart::WhenNodeExpansionPends && may;
    let replicas = replicas
        .iter()
        .filter(move |replica| on && replica.pod_at == At::Updated);
    replicas.filter_map(|replica| {
        let pod = replica.pod?;
        let is_older = |claim: &&ClaimAssessment<'_>| pending_since(claim).is_some_and(|since| pod.created <= since);
        let claim = replica.claims.iter().find(is_older)?;
        Some((replica, claim, pod))
    })
}

/// Since when the node has to expand the file system of this PVC.
fn pending_since(claim: &ClaimAssessment<'_>) -> Option<Seconds> {
    let view = claim.claim.filter(|_| claim.state == ClaimState::NodeExpanding)?;
    time::read(view.file_system_resize_pending.as_ref()?)
}
