//! `claim-rollout.io/update-policy: ReCreate`: the next step to delete the PVCs of one replica and have Kubernetes
//! create them anew (design, 8).
//!
//! | the world | step |
//! |---|---|
//! | another replica is not there, or its PVC moves | wait |
//! | the eviction of the Pod is denied by dry run | wait, or stop |
//! | a VolumeSnapshot is asked for, and there is none | create it |
//! | it is not ready | wait |
//! | a PVC does not have our mark | mark it |
//! | all PVCs have our mark | delete them, one after the other |
//! | all are being deleted, and have our mark | evict the Pod |
//! | the Pod or a PVC is missing or not ready | wait: this replica is not there, and the next one needs it |
//!
//! Everything is decided from the objects themselves, so a crash between two steps changes nothing.

use super::action::{Action, ClaimOf, Evict, EvictReason, TakeSnapshot};
use super::anew::Anew;
use super::bounds::Bounds;
use super::disruption;
use super::kept::KeptBack;
use super::replica::{ClaimAssessment, Mounting, Replica};
use super::snapshot::{PodView, Seconds, Snapshot, Strategy};
use super::target::{self, Target};
use super::volume_snapshot::{self, EvictionAnswer, ReCreateQuestion, VolumeSnapshotAnswer};
use crate::claims::Claim;
use crate::templates::{Phase, keys};

/// Seconds until an answer is asked for again that no watch reports.
pub const RECHECK: Seconds = 15;

/// Seconds after which a watch has shown a deletion.
const WATCH_LAG: Seconds = 30;

/// The next step, or why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReCreation {
    /// The step to take now.
    pub action: Option<Action>,
    /// What has to be read before the step is known.
    pub asks: Option<ReCreateQuestion>,
    /// What the next step waits for.
    pub waits: Option<String>,
    /// Why there is no next step until somebody acts.
    pub blocked: Option<String>,
    /// When to decide again although nothing changes.
    pub due: Option<Seconds>,
    /// A replica has a PVC that we delete, or the next replica waits for one that was away.
    pub is_busy: bool,
}

/// Decides the next step. At most one action is returned.
///
/// # Guarantees
/// * A PVC is deleted only with our mark, its uid and its resourceVersion, only if it belongs to the set (S5), and only
///   if its template cannot be reached in place.
/// * No step is taken for a replica unless every other one is there ([`disruption`]) (L8).
/// * A Pod is evicted only if it uses a PVC that is being deleted and has our mark.
/// * The only replica of a set is not deleted without a VolumeSnapshot that is ready.
#[must_use]
pub fn next(
    snapshot: &Snapshot,
    target: &Target<'_>,
    replicas: &[Replica<'_>],
    (mounting, bounds): (&Mounting<'_>, &Bounds),
) -> ReCreation {
    let next = NextStep {
        snapshot,
        target,
        replicas,
        mounting,
    };
    let is_on = target::recreates(&snapshot.set);
    let begun = |replica: &&Replica<'_>| replica.claims.iter().any(|claim| claim.anew == Some(Anew::Begun));
    if let Some(replica) = replicas.iter().find(begun) {
        let goes_on = is_on && matches!(replica.kept, None | Some(KeptBack::Paused));
        let more = goes_on && due(replica).next().is_some();
        let step = if more {
            next.delete(replica)
        } else {
            next.evict(replica)
        };
        return ReCreation { is_busy: true, ..step };
    }
    if let Some(unmark) = next.unmark(is_on) {
        return ReCreation {
            action: Some(unmark),
            ..ReCreation::default()
        };
    }
    if !is_on || bounds.held.is_some() {
        return ReCreation::default();
    }
    let mut free = replicas.iter().filter(|replica| replica.kept.is_none());
    match free.find(|replica| !replica.is_done()) {
        Some(replica) if due(replica).next().is_some() => next.delete(replica),
        // It is updated in place.
        Some(replica) if replica.claims.iter().all(has_volume) => ReCreation::default(),
        // It comes back. The rollout is complete when the last Pod is there.
        _ => next.comes_back(),
    }
}

/// The PVCs of a replica that have to be deleted.
fn due<'r>(replica: &'r Replica<'_>) -> impl Iterator<Item = (&'r ClaimAssessment<'r>, &'r Claim)> {
    let due = replica
        .claims
        .iter()
        .filter(|claim| matches!(claim.anew, Some(Anew::Due(_))));
    due.filter_map(|claim| Some((claim, claim.claim?)))
}

fn has_volume(claim: &ClaimAssessment<'_>) -> bool {
    claim.claim.is_some_and(|claim| claim.bound && !claim.terminating)
}

struct NextStep<'w> {
    snapshot: &'w Snapshot,
    target: &'w Target<'w>,
    replicas: &'w [Replica<'w>],
    mounting: &'w Mounting<'w>,
}

impl NextStep<'_> {
    /// The step that brings a replica closer to the deletion of its PVCs.
    fn delete(&self, replica: &Replica<'_>) -> ReCreation {
        let step = self
            .obstacle(replica)
            .or_else(|| self.eviction(replica))
            .or_else(|| due(replica).find_map(|(_, claim)| self.volume_snapshot(claim)));
        step.or_else(|| self.mark_or_delete(replica)).unwrap_or_default()
    }

    /// Why nothing of this replica is deleted now.
    fn obstacle(&self, replica: &Replica<'_>) -> Option<ReCreation> {
        let (snapshot, set) = (self.snapshot, &self.snapshot.set);
        let stops = |why: String| Some(self.blocked(replica, &why));
        match set.strategy {
            Strategy::RollingUpdate => {}
            Strategy::OnDelete | Strategy::Recreate => {
                return stops("it needs the update strategy RollingUpdate".to_owned());
            }
        }
        if let Some(added) = set.added_template() {
            return stops(format!(
                "the staged change also adds template {added}: stage the two changes one after the other"
            ));
        }
        if self.replicas.len() <= 1 && set.recreate_snapshot.is_none() {
            return stops(format!(
                "this is the only replica, and its data would be lost: set the annotation {} to a \
                 VolumeSnapshotClass, or add replicas",
                keys::RECREATE_SNAPSHOT
            ));
        }
        let free = self.replicas.iter().filter(|other| other.kept.is_none());
        let mut claims = free.chain([replica]).flat_map(|other| &other.claims);
        if let Some(stuck) = claims.find(|claim| claim.state.is_stalled()) {
            return stops(format!("{} is {}: {}", stuck.name, stuck.state, stuck.message));
        }
        if let Some((why, retry_at)) = snapshot.recreate.denied.as_ref().filter(|(_, at)| *at > snapshot.now) {
            return Some(ReCreation {
                due: Some(*retry_at),
                ..self.blocked(replica, why)
            });
        }
        if !set.status_is_current {
            return Some(self.waits(replica, "the StatefulSet controller has not seen the last change"));
        }
        let mut moving = self.replicas.iter().filter(|other| other.is_in_motion());
        if let Some(other) = moving.next() {
            let mut claims = other.claims.iter().filter(|claim| claim.state.is_in_motion());
            let claim = claims.next()?;
            return Some(self.waits(
                replica,
                &format!("{} is {}: {}", claim.name, claim.state, claim.message),
            ));
        }
        if let Some(away) = disruption::away(snapshot, self.replicas, replica.ordinal) {
            return Some(ReCreation {
                due: away.until,
                ..self.waits(replica, &away.why)
            });
        }
        if replica.pod.is_some_and(|pod| pod.deleted.is_some()) {
            return Some(self.waits(replica, "the Pod is being deleted"));
        }
        due(replica).find_map(|(_, claim)| {
            let other = self.other_pod(replica, claim)?;
            Some(self.waits(replica, &format!("Pod {} uses {} as well", other.name, claim.name)))
        })
    }

    /// Another Pod that uses the PVC, such as that of a backup Job: the PVC would not go, and no new Pod would start.
    fn other_pod(&self, replica: &Replica<'_>, claim: &Claim) -> Option<&PodView> {
        let own = replica.pod.map(|pod| &pod.uid);
        let mut pods = self.mounting.get(claim.name.as_str()).into_iter().flatten();
        pods.find(|pod| Some(&pod.uid) != own).copied()
    }

    /// Asks by dry run whether the Pod may be evicted.
    fn eviction(&self, replica: &Replica<'_>) -> Option<ReCreation> {
        let pod = replica.pod?;
        let (name, uid) = (pod.name.clone(), pod.uid.clone());
        let answers = &self.snapshot.recreate.eviction;
        let Some((_, answer)) = answers.as_ref().filter(|(asked, _)| *asked == uid) else {
            return Some(ReCreation {
                asks: Some(ReCreateQuestion::Eviction { pod: name, uid }),
                ..ReCreation::default()
            });
        };
        let later = |step: ReCreation| {
            let due = Some(self.snapshot.now.saturating_add(RECHECK));
            Some(ReCreation { due, ..step })
        };
        match answer {
            EvictionAnswer::Allowed => None,
            EvictionAnswer::NotNow(why) => later(self.waits(replica, &format!("no eviction now: {why}"))),
            EvictionAnswer::Denied(why) => later(self.blocked(replica, &format!("failed to evict Pod {name}: {why}"))),
        }
    }

    /// What the VolumeSnapshot of a PVC needs; `None` if it is ready, or none is asked for.
    fn volume_snapshot(&self, claim: &Claim) -> Option<ReCreation> {
        let class = self.snapshot.set.recreate_snapshot.as_ref()?;
        let name = volume_snapshot::name(claim, &self.target.label.revision);
        let now = self.snapshot.now;
        let step = |text: String| ReCreation {
            waits: Some(text),
            due: Some(now.saturating_add(RECHECK)),
            ..ReCreation::default()
        };
        let stops = |why: &str| ReCreation {
            waits: None,
            blocked: Some(format!("{} is not deleted: VolumeSnapshot {name} {why}", claim.name)),
            ..step(String::new())
        };
        Some(match self.snapshot.recreate.volume_snapshots.get(&name) {
            None => ReCreation {
                asks: Some(ReCreateQuestion::VolumeSnapshot(name)),
                ..ReCreation::default()
            },
            Some(VolumeSnapshotAnswer::Absent) => ReCreation {
                action: Some(Action::TakeSnapshot(TakeSnapshot {
                    name,
                    class: class.clone(),
                    set: self.snapshot.set.name.clone(),
                    of: self.claim_of(claim),
                })),
                ..ReCreation::default()
            },
            Some(VolumeSnapshotAnswer::Unreadable(why)) => stops(&format!("cannot be read: {why}")),
            Some(VolumeSnapshotAnswer::Found(found)) if found.claim != claim.name => stops("is of another PVC"),
            Some(VolumeSnapshotAnswer::Found(found)) if found.terminating => stops("is being deleted"),
            Some(VolumeSnapshotAnswer::Found(found)) if found.is_ready => return None,
            Some(VolumeSnapshotAnswer::Found(found)) => match &found.error {
                Some(why) => stops(&format!("has an error: {why}")),
                None => step(format!(
                    "{} waits for VolumeSnapshot {name}, which is not ready",
                    claim.name
                )),
            },
        })
    }

    /// Marks the PVCs of the replica and then deletes them.
    fn mark_or_delete(&self, replica: &Replica<'_>) -> Option<ReCreation> {
        let is_marked = |claim: &Claim| {
            claim
                .recreated_for
                .as_ref()
                .is_some_and(|mark| self.target.label.is(mark))
        };
        let mut unmarked = due(replica).filter(|(_, claim)| !is_marked(claim));
        let action = match unmarked.next() {
            Some((_, claim)) => Action::MarkClaim(self.claim_of(claim)),
            None => due(replica)
                .map(|(_, claim)| Action::DeleteClaim(self.claim_of(claim)))
                .next()?,
        };
        Some(ReCreation {
            action: Some(action),
            ..ReCreation::default()
        })
    }

    /// Removes a mark that no deletion followed, and that is not for this revision any more. Who deletes such a PVC later
    /// does not mean us.
    fn unmark(&self, is_on: bool) -> Option<Action> {
        let claims = self.replicas.iter().flat_map(|replica| &replica.claims);
        let mut stale = claims.filter_map(|claim| claim.claim).filter(|claim| {
            let mark = claim.recreated_for.as_deref();
            !claim.terminating && mark.is_some_and(|mark| !is_on || !self.target.label.is(mark))
        });
        Some(Action::UnmarkClaim(self.claim_of(stale.next()?)))
    }

    /// Evicts the Pod whose PVCs are being deleted. The Pod goes on while another replica is away.
    fn evict(&self, replica: &Replica<'_>) -> ReCreation {
        let snapshot = self.snapshot;
        let mut begun = replica.claims.iter().filter(|claim| claim.anew == Some(Anew::Begun));
        let Some((assessment, claim)) = begun.next().and_then(|claim| Some((claim, claim.claim?))) else {
            return ReCreation::default();
        };
        let uses = |pod: &&PodView| pod.deleted.is_none() && pod.claims.contains(&claim.name);
        let waits = || self.waits(replica, &format!("{} {}", assessment.name, assessment.message));
        let (Some(pod), Some(deleted)) = (replica.pod.filter(uses), claim.deleted) else {
            return waits();
        };
        // A Pod that was created since uses the next PVC, which a late watch does not show yet.
        let is_clear = deleted.saturating_add(WATCH_LAG);
        if pod.created > deleted || (pod.created == deleted && snapshot.now < is_clear) {
            return ReCreation {
                due: Some(is_clear),
                ..waits()
            };
        }
        if let Some(added) = snapshot.set.added_template() {
            let why = format!("Pod {} is evicted when the staged template {added} is live", pod.name);
            return self.waits(replica, &why);
        }
        if let Some(away) = disruption::away(snapshot, self.replicas, replica.ordinal) {
            let why = format!("Pod {} is evicted when all others are there: {}", pod.name, away.why);
            return ReCreation {
                due: away.until,
                ..self.waits(replica, &why)
            };
        }
        if let Some((why, retry_at)) = snapshot.not_evicted.as_ref().filter(|(_, at)| *at > snapshot.now) {
            return ReCreation {
                due: Some(*retry_at),
                ..self.waits(replica, &format!("failed to evict Pod {}: {why}", pod.name))
            };
        }
        ReCreation {
            action: Some(Action::Evict(Evict {
                pod: pod.name.clone(),
                uid: pod.uid.clone(),
                claim: (claim.name.clone(), claim.uid.clone()),
                reason: EvictReason::ReCreated,
            })),
            ..ReCreation::default()
        }
    }

    /// Waits until every Pod is there, before the next one or the end.
    fn comes_back(&self) -> ReCreation {
        let is_over = self.target.change.phase == Phase::Complete || self.snapshot.set.paused;
        let nobody = u32::MAX;
        let away = (!is_over).then(|| disruption::away(self.snapshot, self.replicas, nobody));
        away.flatten().map_or_else(ReCreation::default, |away| ReCreation {
            waits: Some(format!("waiting: {}", away.why)),
            due: away.until,
            is_busy: true,
            ..ReCreation::default()
        })
    }

    fn waits(&self, replica: &Replica<'_>, why: &str) -> ReCreation {
        ReCreation {
            waits: Some(format!("{} waits to be re-created: {why}", self.pod_name(replica))),
            ..ReCreation::default()
        }
    }

    fn blocked(&self, replica: &Replica<'_>, why: &str) -> ReCreation {
        ReCreation {
            blocked: Some(format!("{} is not re-created: {why}", self.pod_name(replica))),
            ..ReCreation::default()
        }
    }

    fn pod_name(&self, replica: &Replica<'_>) -> String {
        format!("{}-{}", self.snapshot.set.name, replica.ordinal)
    }

    fn claim_of(&self, claim: &Claim) -> ClaimOf {
        ClaimOf {
            name: claim.name.clone(),
            uid: claim.uid.clone(),
            resource_version: claim.resource_version.clone(),
            label: self.target.label.clone(),
        }
    }
}
