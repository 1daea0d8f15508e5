//! Why nothing of a replica is deleted now under the update policy `ReCreate`.

use super::disruption;
use super::disruption::Away;
use super::replica::{Mounting, Replica};
use super::snapshot::{PodView, Snapshot};
use crate::api::Seconds;
use crate::claims::Claim;
use crate::gate::StagedAt;
use crate::templates::{Strategy, keys};

/// Why nothing of a replica is deleted now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepsClaims {
    /// Somebody has to act. The time is when to try again, if nothing changes.
    Stops(String, Option<Seconds>),
    /// Something ends by itself.
    Waits(Away),
}

/// The obstacle; `None` if the PVCs `due` of the replica may be deleted as far as the set, its Pods and its PVCs are
/// concerned.
#[must_use]
pub fn find<'c>(
    snapshot: &Snapshot,
    replicas: &[Replica<'_>],
    replica: &Replica<'_>,
    (mounting, mut due): (&Mounting<'_>, impl Iterator<Item = &'c Claim>),
) -> Option<KeepsClaims> {
    if let Some(why) = of_set(snapshot, replicas) {
        return Some(KeepsClaims::Stops(why, None));
    }
    let free = replicas.iter().filter(|other| other.restraint.is_none());
    let mut claims = free.chain([replica]).flat_map(|other| &other.claims);
    if let Some(stuck) = claims.find(|claim| claim.state.is_stalled()) {
        let why = format!("{} is {}: {}", stuck.name, stuck.state, stuck.message);
        return Some(KeepsClaims::Stops(why, None));
    }
    if let Some((why, retry_at)) = snapshot.recreate.denied_now(snapshot.now) {
        return Some(KeepsClaims::Stops(why.clone(), Some(*retry_at)));
    }
    let waits = |why: String| Some(KeepsClaims::Waits(Away { why, until: None }));
    if !snapshot.set.status_is_current {
        return waits("the StatefulSet controller has not seen the last change".to_owned());
    }
    let mut moving = replicas.iter().filter(|other| other.is_in_motion());
    if let Some(other) = moving.next() {
        let mut claims = other.claims.iter().filter(|claim| claim.is_in_motion());
        let claim = claims.next()?;
        return waits(format!("{} is {}: {}", claim.name, claim.state, claim.message));
    }
    if let Some(away) = disruption::away(snapshot, replicas, replica.ordinal) {
        return Some(KeepsClaims::Waits(away));
    }
    if replica.pod.is_some_and(|pod| pod.deleted.is_some()) {
        return waits("the Pod is being deleted".to_owned());
    }
    let (claim, other) = due.find_map(|claim| Some((claim, other_pod(replica, claim, mounting)?)))?;
    waits(format!("Pod {} uses {} as well", other.name, claim.name))
}

/// Why nothing of the set is deleted until somebody acts.
fn of_set(snapshot: &Snapshot, replicas: &[Replica<'_>]) -> Option<String> {
    let set = &snapshot.set;
    match set.strategy {
        Strategy::RollingUpdate => {}
        Strategy::OnDelete | Strategy::Recreate => {
            return Some("it needs the update strategy RollingUpdate".to_owned());
        }
    }
    if let Some(added) = set.added_template() {
        let why = format!("the staged change also adds template {added}: stage the two changes one after the other");
        return Some(why);
    }
    if replicas.len() <= 1 && set.recreate_snapshot.is_none() {
        return Some(format!(
            "this is the only replica, and its data would be lost: set the annotation {} to a VolumeSnapshotClass, or \
             add replicas",
            keys::RECREATE_SNAPSHOT
        ));
    }
    let is_known = matches!(set.staged_at, StagedAt::At(_));
    (!is_known).then(|| {
        let key = keys::STAGED_AT;
        format!("the annotation {key} is no time: withdraw the change and stage it again")
    })
}

/// Another Pod that uses the PVC, such as that of a backup Job: the PVC would not go, and no new Pod would start.
fn other_pod<'p>(replica: &Replica<'_>, claim: &Claim, mounting: &Mounting<'p>) -> Option<&'p PodView> {
    let own = replica.pod.map(|pod| &pod.uid);
    let mut pods = mounting.get(claim.name.as_str()).into_iter().flatten();
    pods.find(|pod| Some(&pod.uid) != own).copied()
}
