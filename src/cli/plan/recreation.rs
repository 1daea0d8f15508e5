//! The update policy `ReCreate` in a forecast where all goes well: evictions are allowed, snapshots become ready, and
//! Kubernetes creates PVC and Pod again.

use super::creation::provision;
use crate::rollout::volume_snapshot::{EvictionAnswer, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::rollout::{ClaimOf, Plan, Snapshot, plan};

/// The plan after all its questions have been answered as one hopes.
pub(super) fn answered(snapshot: &mut Snapshot) -> Plan {
    let most = snapshot.claims.len() + 3;
    for _ in 0..most {
        match plan(snapshot).asks {
            None => break,
            Some(ReCreateQuestion::Eviction { uid, .. }) => {
                snapshot.recreate.eviction = Some((uid, EvictionAnswer::Allowed));
            }
            Some(ReCreateQuestion::Live) => snapshot.recreate.live = Some(Ok(())),
            Some(ReCreateQuestion::VolumeSnapshot(name)) => {
                let mut claims = snapshot.claims.values();
                let claim = claims.find(|claim| name.starts_with(&format!("{}-", claim.uid)));
                let ready = VolumeSnapshot {
                    claim: claim.map(|claim| claim.name.clone()).unwrap_or_default(),
                    class: snapshot.set.recreate_snapshot.clone(),
                    // After the change was staged, which is now.
                    taken: Some(snapshot.now.saturating_add(1)),
                    is_ready: true,
                    ..VolumeSnapshot::default()
                };
                let answer = VolumeSnapshotAnswer::Found(ready);
                snapshot.recreate.volume_snapshots.insert(name, answer);
            }
        }
    }
    plan(snapshot)
}

/// The PVC and its Pod have been created anew.
pub(super) fn create(snapshot: &mut Snapshot, anew: &ClaimOf) {
    let set = &snapshot.set;
    let created = snapshot.now.saturating_add(1);
    let claim = snapshot.claims.get_mut(&anew.name);
    let Some(((template, ordinal), claim)) = set.place_of(&anew.name).zip(claim) else {
        return;
    };
    claim.uid = format!("new {}", claim.uid);
    claim.created = created;
    provision(claim, template, &anew.label.to_string());
    let revision = set.update_revision.clone();
    if let Some(pod) = snapshot.pods.get_mut(&set.pod_name(ordinal)) {
        pod.uid = format!("new {}", pod.uid);
        (pod.created, pod.ready_since, pod.revision) = (created, Some(0), revision);
    }
}
