//! LockStep: Pods wait for their claims behind Kubernetes' own partition, and are released one at a time.
//!
//! The policy raises the partition when Pods would run ahead of their claims, and keeps the user's own beside it. Here it
//! is lowered replica by replica (KEP-4650, "Updated Reconciliation Logic"), and the user's is put back at the end.

use super::action::SetPartition;
use super::readiness::ClaimState;
use super::replica::{At, Replica, Standing};
use super::snapshot::{PodView, SetView, Snapshot, Strategy};
use super::wish::{Idle, Wish};
use crate::templates::{Phase, Sync};

/// Where a replica is in the order: its claims, its Pod, then the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Its claims are not ready.
    Claims,
    /// Its claims are ready, and its Pod is held.
    Release,
    /// Its Pod is being replaced.
    Pod,
    /// Its Pod runs at the update revision: the next one.
    Over,
}

/// Where a replica of a held set is.
#[must_use]
pub fn turn(snapshot: &Snapshot, driven: u32, replica: &Replica<'_>) -> Turn {
    let set = &snapshot.set;
    let ready = replica.claims.iter().all(|claim| lets_pod_go(claim, set));
    if set.index(replica.ordinal) < driven {
        return if ready { Turn::Release } else { Turn::Claims };
    }
    let runs =
        |pod: &PodView| pod.revision == set.update_revision && pod.is_available(snapshot.now, set.min_ready_seconds);
    // A status from before the last change of the set may name an older revision as the update.
    let over = set.status_is_current && replica.pod.is_some_and(runs);
    match (ready, over) {
        (true, true) => Turn::Over,
        (true, false) => Turn::Pod,
        // The claims that let it go are what its Pod is to finish.
        (false, false)
            if replica
                .claims
                .iter()
                .all(|claim| lets_pod_go(claim, set) || needs_a_pod(claim)) =>
        {
            Turn::Pod
        }
        (false, _) => Turn::Claims,
    }
}

/// What is to be done about the partition of a set with a rollout; nothing where nothing is held.
#[must_use]
pub fn next(snapshot: &Snapshot, wish: &Wish<'_>, replicas: &[Replica<'_>]) -> Option<SetPartition> {
    let set = &snapshot.set;
    let driven = set.held.filter(|_| !set.paused)?;
    if wish.record.phase == Phase::Complete || set.sync == Sync::Async || set.strategy != Strategy::RollingUpdate {
        return lift(set);
    }
    for replica in replicas
        .iter()
        .take_while(|replica| !set.is_below_partition(replica.ordinal))
    {
        match turn(snapshot, driven, replica) {
            Turn::Over => {}
            Turn::Claims | Turn::Pod => return None,
            Turn::Release => {
                return Some(SetPartition {
                    set_uid: set.uid.clone(),
                    resource_version: set.resource_version.clone(),
                    partition: Some(set.index(replica.ordinal)),
                    lift: false,
                });
            }
        }
    }
    lift(set)
}

/// What ends a hold that no rollout needs: however a rollout ended, Pods are not held for ever.
#[must_use]
pub fn without_rollout(set: &SetView, idle: &Idle) -> Option<SetPartition> {
    // What is being deleted is left alone, and what another controller owns is the other's.
    match idle {
        Idle::Terminating | Idle::Owned { .. } | Idle::WriteUndone { .. } => None,
        Idle::NothingStaged
        | Idle::Withdrawn
        | Idle::ValidateOnly
        | Idle::OnClaimDelete
        | Idle::ReCreate
        | Idle::TooManyClaims { .. }
        | Idle::PolicyMissing { .. }
        | Idle::Unsound { .. } => lift(set),
    }
}

/// What ends the hold of a set, whatever its claims are; nothing where none is.
#[must_use]
pub fn lift(set: &SetView) -> Option<SetPartition> {
    set.held?;
    Some(SetPartition {
        set_uid: set.uid.clone(),
        resource_version: set.resource_version.clone(),
        partition: (set.strategy == Strategy::RollingUpdate).then_some(set.partition),
        lift: true,
    })
}

/// True iff the claim does not keep its Pod waiting (S7): it is at the wish and ready, or will be made anew with the Pod.
///
/// Some drivers finish an expansion only when the volume is mounted again, so one that waits for the node does not keep a
/// Pod that is about to be replaced; whether it is can only be told by a status from after the last change of the set. Nor
/// does a claim without a volume: it cannot be written before it has one, it may get one only with a Pod, and the new Pod
/// may be the cure of the old one. A claim that is being deleted does: its Pod would wait for ever for the next one.
fn lets_pod_go(claim: &Standing<'_>, set: &SetView) -> bool {
    match claim.state {
        ClaimState::Done | ClaimState::Missing => true,
        _ => needs_a_pod(claim) && set.status_is_current && claim.pod_at != At::B,
    }
}

/// True iff the claim may become ready only when a Pod mounts it.
fn needs_a_pod(claim: &Standing<'_>) -> bool {
    matches!(claim.state, ClaimState::NodeExpanding | ClaimState::Unbound)
}

#[cfg(test)]
#[path = "release_tests.rs"]
mod tests;
