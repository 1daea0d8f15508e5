//! Forecasts a rollout in a cluster where all goes well: calls the decision of the controller repeatedly, and executes
//! its actions in the snapshot. So the order is that of the controller.
//!
//! Assumes that volumes grow, that replaced Pods become Ready, that nobody interferes, and that the API server denies
//! the writes that the caller names.

use super::{creation, recreation};
use crate::api::Seconds;
use crate::claims::Claim;
use crate::cli::row::ClaimRow;
use crate::gate;
use crate::gate::{ClaimState, Target, readiness};
use crate::rollout::replica::{Replica, mounting};
use crate::rollout::{Action, ApplyClaim, Refusal, Snapshot};
use crate::templates::{Strategy, Sync, keys};

/// A time after all past events.
pub(crate) const AT_LAST: Seconds = 1 << 40;

/// One step of a forecast.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ForecastStep {
    /// The claim of this name is written.
    Claim(String),
    /// The claim of this name is deleted and created anew.
    ReCreate(String),
    /// The Pod of this replica is replaced.
    Pod(u32),
}

/// The steps of a rollout, and the cluster at its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// The steps in their order.
    pub(crate) steps: Vec<ForecastStep>,
    /// The ordinals of the replicas that had no Pod.
    pub(crate) created: Vec<u32>,
    /// The snapshot at the end.
    pub(crate) end: Snapshot,
}

/// The forecast from this snapshot, which has no Pods if they are not known. `judge` checks each write in its
/// turn, and returns the message of a denial.
pub(crate) fn forecast(
    mut snapshot: Snapshot,
    pods_are_known: bool,
    mut judge: impl FnMut(&ApplyClaim) -> Result<(), String>,
) -> Forecast {
    snapshot.now = AT_LAST;
    let created = if pods_are_known {
        creation::create(&mut snapshot)
    } else {
        Vec::new()
    };
    let mut steps = Vec::new();
    // Every round writes a claim or replaces a Pod, but for a few at the end.
    let most = snapshot.claims.len() * 2 + snapshot.pods.len() + 8;
    for _ in 0..most {
        time_passes(&mut snapshot);
        let mut wrote = false;
        for action in recreation::answered(&mut snapshot).actions {
            match action {
                Action::ApplyClaim(apply) => match judge(&apply) {
                    Ok(()) => {
                        write(&mut snapshot, &apply);
                        steps.push(ForecastStep::Claim(apply.name.to_string()));
                    }
                    Err(denied) => remember(&mut snapshot, &apply, denied),
                },
                Action::SetReady(ready) => snapshot.set.ready = ready.ready,
                Action::SetStaged(change) => snapshot.set.staged = change.change,
                // A mark stands for all steps of a re-creation.
                Action::MarkClaim(claim) => {
                    recreation::create(&mut snapshot, &claim);
                    steps.push(ForecastStep::ReCreate(claim.name));
                }
                // No other action changes the cluster in a forecast.
                _ => continue,
            }
            wrote = true;
        }
        let replaced = replace(&mut snapshot);
        if !wrote && replaced.is_none() {
            break;
        }
        steps.extend(replaced);
    }
    Forecast {
        steps,
        created,
        end: snapshot,
    }
}

/// Completes everything that is in progress.
fn time_passes(snapshot: &mut Snapshot) {
    for claim in snapshot.claims.values_mut() {
        if claim.bound && !readiness::is_infeasible(claim) && claim.labels.contains_key(keys::REVISION) {
            complete(claim);
        }
    }
    for ordinal in ready(snapshot) {
        if let Some(pod) = snapshot.pods.get_mut(&snapshot.set.pod_name(ordinal)) {
            pod.ready_since = Some(0);
        }
    }
    snapshot.set.status_is_current = true;
}

/// The replicas whose claims allow their Pods to become Ready.
fn ready(snapshot: &Snapshot) -> Vec<u32> {
    let Ok(target) = Target::of(&snapshot.set, &snapshot.settings) else {
        return Vec::new();
    };
    let mounted = mounting(snapshot);
    let replicas = snapshot.set.ordinals();
    let is_ready = |ordinal: &u32| Replica::assess(snapshot, &target, &mounted, *ordinal).lets_pod_go();
    replicas.filter(is_ready).collect()
}

fn complete(claim: &mut Claim) {
    claim.capacity = claim.capacity.max(Some(claim.request));
    claim.current_class.clone_from(&claim.class);
    claim.resize = None;
    claim.modify = None;
    claim.resizing = false;
    claim.file_system_resize_pending = None;
    claim.troubles.clear();
}

fn write(snapshot: &mut Snapshot, apply: &ApplyClaim) {
    let Some(claim) = snapshot.claims.get_mut(apply.name.as_str()) else {
        return;
    };
    for (key, value) in &apply.labels {
        claim.labels.insert(key.clone(), value.clone());
    }
    claim.labels.insert(keys::REVISION.to_owned(), apply.label.to_string());
    claim.request = apply.storage;
    if apply.volume_attributes_class_name.is_some() {
        claim.class.clone_from(&apply.volume_attributes_class_name);
    }
}

fn remember(snapshot: &mut Snapshot, apply: &ApplyClaim, message: String) {
    let kept = Refusal {
        label: apply.label.clone(),
        resource_version: apply.resource_version.clone(),
        cause: "Forbidden".to_owned(),
        message,
        attempts: 1,
        last: snapshot.now,
    };
    snapshot.refusals.insert(apply.uid.clone(), kept);
}

/// Replaces the next Pod, if the gate allows it.
fn replace(snapshot: &mut Snapshot) -> Option<ForecastStep> {
    let set = &snapshot.set;
    if set.sync == Sync::Async || set.strategy == Strategy::OnDelete {
        return None;
    }
    let is_behind = |ordinal: &u32| {
        let pod = snapshot.pod_of(*ordinal);
        pod.is_some_and(|pod| pod.revision != set.update_revision) && !set.is_below_partition(*ordinal)
    };
    let ordinal = set.ordinals().find(is_behind)?;
    let pod = snapshot.pod_of(ordinal)?;
    let seen = gate::Pod {
        name: pod.name.clone(),
        set_name: set.name.clone(),
        set_uid: set.uid.clone(),
        mounts_claims: !pod.claims.is_empty(),
        ..gate::Pod::default()
    };
    if gate::gate(&seen, set, &snapshot.settings, |claim| {
        snapshot.claims.get(claim.as_str())
    })
    .is_some()
    {
        return None;
    }
    let revision = set.update_revision.clone();
    snapshot.pods.get_mut(&seen.name)?.revision = revision;
    Some(ForecastStep::Pod(ordinal))
}

/// The claims in the rollout of a snapshot, highest ordinal first.
pub(crate) fn claims_of(snapshot: &Snapshot) -> Vec<ForecastClaim> {
    let Ok(target) = Target::of(&snapshot.set, &snapshot.settings) else {
        return Vec::new();
    };
    let mounted = mounting(snapshot);
    let mut all = Vec::new();
    for ordinal in snapshot.set.ordinals() {
        let replica = Replica::assess(snapshot, &target, &mounted, ordinal);
        for claim in &replica.claims {
            all.push(ForecastClaim {
                row: ClaimRow::assessed(claim, ordinal),
                state: claim.state,
                is_kept: replica.restraint.is_some(),
                apply: claim.apply(snapshot, &target),
            });
        }
    }
    all
}

/// The state of one claim in a forecast.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForecastClaim {
    pub(crate) row: ClaimRow,
    pub(crate) state: ClaimState,
    /// The user keeps it as it is: by a pause, the partition, or `updateStrategy: OnDelete`.
    pub(crate) is_kept: bool,
    /// The write that would update the claim; none if the claim does not exist.
    pub(crate) apply: Option<ApplyClaim>,
}
