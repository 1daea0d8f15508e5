//! `claim-rollout.io/update-policy: ReCreate`: the next step to delete the PVCs of one replica and have Kubernetes
//! create them anew.
//!
//! | the world | step |
//! |---|---|
//! | nobody has written when this staging was first seen | write it, and nothing else |
//! | another replica is not there, or its PVC moves | wait |
//! | the eviction of the Pod is denied by dry run | wait, or stop |
//! | a VolumeSnapshot is asked for, and none [counts](super::snapshot_age) | create one, or wait |
//! | the Pods and PVCs are those of a watch | read them: what follows cannot be undone |
//! | a PVC does not have our mark | mark it |
//! | all PVCs have our mark | delete them, one after the other |
//! | all are being deleted, and have our mark | evict the Pod |
//! | the Pod or a PVC is missing or not ready | wait: this replica is not there, and the next one needs it |
//!
//! Everything is decided from the objects themselves, so a crash between two steps changes nothing.

use super::action::{Action, ClaimOf, Evict, EvictReason, SetStagedAt, TakeSnapshot};
use super::assessment::ClaimAssessment;
use super::bounds::Bounds;
use super::disruption::Away;
use super::obstacle::KeepsClaims;
use super::recreate_need::ReCreateNeed;
use super::replica::{Mounting, Replica};
use super::restraint::Restraint;
use super::snapshot::{PodView, Snapshot};
use super::snapshot_age::SnapshotStep;
use super::volume_snapshot::{EvictionAnswer, ReCreateQuestion};
use super::{disruption, obstacle, snapshot_age, stale_marks};
use crate::api::Seconds;
use crate::claims::Claim;
use crate::gate::{StagedAt, Target, target};
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
    /// It is not known when this staging was first seen. Nothing else is written before it is.
    pub is_first: bool,
}

/// Decides the next step. At most one action is returned.
///
/// # Guarantees
/// * A PVC is deleted only with the mark of this staging, its uid and its resourceVersion, only if it belongs to the set
///   (S5), and only if its template cannot be reached in place ([`recreate_need`](super::recreate_need)).
/// * No step is taken for a replica unless every other one is there ([`disruption`]), by what was read just now (L8).
/// * A Pod is evicted only if it uses a PVC that is being deleted and has this mark.
/// * The only replica of a set is not deleted without a VolumeSnapshot that counts ([`snapshot_age`]).
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
    if is_on && snapshot.set.staged_at == StagedAt::Absent {
        return next.first_seen();
    }
    if let Some(replica) = replicas.iter().find(|replica| replica.begun().next().is_some()) {
        let goes_on = is_on && matches!(replica.restraint, None | Some(Restraint::Paused));
        let more = goes_on && due(replica).next().is_some();
        let step = if more {
            next.delete(replica)
        } else {
            next.evict(replica)
        };
        let step = next.on_live(step);
        return ReCreation { is_busy: true, ..step };
    }
    let label = Some(&target.label).filter(|_| is_on && !snapshot.set.paused);
    if let Some(unmark) = stale_marks::next(snapshot, mounting, label) {
        let denied = snapshot.recreate.denied_now(snapshot.now);
        return ReCreation {
            action: denied.is_none().then_some(unmark),
            due: denied.map(|(_, retry_at)| *retry_at),
            blocked: denied.map(|(why, _)| why.clone()),
            ..ReCreation::default()
        };
    }
    if !is_on || bounds.held.is_some() {
        return ReCreation::default();
    }
    let mut free = replicas.iter().filter(|replica| replica.restraint.is_none());
    match free.find(|replica| !replica.is_done()) {
        Some(replica) if due(replica).next().is_some() => next.on_live(next.delete(replica)),
        // It is updated in place.
        Some(replica) if replica.claims.iter().all(has_volume) => ReCreation::default(),
        // It comes back. The rollout is complete when the last Pod is there.
        _ => next.comes_back(),
    }
}

/// The PVCs of a replica that have to be deleted.
fn due<'r>(replica: &'r Replica<'_>) -> impl Iterator<Item = &'r Claim> {
    let due = replica
        .claims
        .iter()
        .filter(|claim| matches!(claim.recreate_need, Some(ReCreateNeed::Due(_))));
    due.filter_map(|claim| claim.claim)
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
    /// Writes when this staging was first seen.
    fn first_seen(&self) -> ReCreation {
        let (snapshot, set) = (self.snapshot, &self.snapshot.set);
        let denied = snapshot.write_refused.as_ref().map(|(_, retry_at)| *retry_at);
        let due = denied.filter(|retry_at| *retry_at > snapshot.now);
        let action = due.is_none().then(|| {
            Action::SetStagedAt(SetStagedAt {
                set: set.version(),
                at: snapshot.now,
            })
        });
        ReCreation {
            action,
            due,
            waits: Some(format!("waiting for the annotation {}", keys::STAGED_AT)),
            is_busy: true,
            is_first: true,
            ..ReCreation::default()
        }
    }

    /// The step, if it was decided on the Pods and PVCs of now or can be undone; else the question for them.
    fn on_live(&self, step: ReCreation) -> ReCreation {
        if !matches!(
            step.action,
            Some(Action::MarkClaim(_) | Action::DeleteClaim(_) | Action::Evict(_))
        ) {
            return step;
        }
        let step = match &self.snapshot.recreate.live {
            Some(Ok(())) => return step,
            None => ReCreation {
                asks: Some(ReCreateQuestion::Live),
                ..step
            },
            Some(Err(why)) => ReCreation {
                waits: Some(format!("waiting for the Pods and PVCs, which cannot be read: {why}")),
                due: Some(self.snapshot.now.saturating_add(RECHECK)),
                ..step
            },
        };
        ReCreation { action: None, ..step }
    }

    /// The step that brings a replica closer to the deletion of its PVCs.
    fn delete(&self, replica: &Replica<'_>) -> ReCreation {
        let step = self
            .obstacle(replica)
            .or_else(|| self.eviction(replica))
            .or_else(|| due(replica).find_map(|claim| self.volume_snapshot(claim)));
        step.or_else(|| self.mark_or_delete(replica)).unwrap_or_default()
    }

    /// Why nothing of this replica is deleted now.
    fn obstacle(&self, replica: &Replica<'_>) -> Option<ReCreation> {
        Some(
            match obstacle::find(self.snapshot, self.replicas, replica, (self.mounting, due(replica)))? {
                KeepsClaims::Stops(why, until) => ReCreation {
                    due: until,
                    ..self.blocked(replica, &why)
                },
                KeepsClaims::Waits(Away { why, until }) => ReCreation {
                    due: until,
                    ..self.waits(replica, &why)
                },
            },
        )
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

    /// What the VolumeSnapshots of a PVC need; `None` if one counts, or none is asked for.
    fn volume_snapshot(&self, claim: &Claim) -> Option<ReCreation> {
        let now = self.snapshot.now;
        let later = |step: ReCreation| {
            let due = Some(now.saturating_add(RECHECK));
            Some(ReCreation { due, ..step })
        };
        match self.snapshot_step(claim)? {
            SnapshotStep::Counts(..) => None,
            SnapshotStep::Ask(name) => Some(ReCreation {
                asks: Some(ReCreateQuestion::VolumeSnapshot(name)),
                ..ReCreation::default()
            }),
            SnapshotStep::Take(name) => Some(ReCreation {
                action: Some(Action::TakeSnapshot(TakeSnapshot {
                    name,
                    class: self.snapshot.set.recreate_snapshot.clone()?,
                    set: self.snapshot.set.name.clone(),
                    of: self.claim_of(claim),
                })),
                ..ReCreation::default()
            }),
            SnapshotStep::Wait(what) => later(ReCreation {
                waits: Some(format!("{} waits for {what}", claim.name)),
                ..ReCreation::default()
            }),
            SnapshotStep::Stop(why) => later(ReCreation {
                blocked: Some(format!("{} is not deleted: {why}", claim.name)),
                ..ReCreation::default()
            }),
        }
    }

    fn snapshot_step(&self, claim: &Claim) -> Option<SnapshotStep> {
        let class = self.snapshot.set.recreate_snapshot.as_ref()?;
        Some(snapshot_age::decide(self.snapshot, claim, &self.target.label, class))
    }

    /// Marks the PVCs of the replica and then deletes them.
    fn mark_or_delete(&self, replica: &Replica<'_>) -> Option<ReCreation> {
        let is_marked = |claim: &Claim| {
            claim
                .recreated_for
                .as_ref()
                .is_some_and(|mark| self.target.label.is(mark))
        };
        let mut unmarked = due(replica).filter(|claim| !is_marked(claim));
        let action = match unmarked.next() {
            Some(claim) => Action::MarkClaim(self.claim_of(claim)),
            None => Action::DeleteClaim(self.deleted(due(replica).next()?)),
        };
        Some(ReCreation {
            action: Some(action),
            ..ReCreation::default()
        })
    }

    /// Evicts the Pod whose PVCs are being deleted. The Pod goes on while another replica is away.
    fn evict(&self, replica: &Replica<'_>) -> ReCreation {
        let snapshot = self.snapshot;
        let Some((assessment, claim)) = replica.begun().next().and_then(|claim| Some((claim, claim.claim?))) else {
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

    /// The claim, with the VolumeSnapshot for which it may be deleted.
    fn deleted(&self, claim: &Claim) -> ClaimOf {
        let snapshot = match self.snapshot_step(claim) {
            Some(SnapshotStep::Counts(name, age)) => Some(format!("VolumeSnapshot {name} is {age} seconds old")),
            _ => None,
        };
        ClaimOf {
            snapshot,
            ..self.claim_of(claim)
        }
    }

    fn claim_of(&self, claim: &Claim) -> ClaimOf {
        ClaimOf {
            name: claim.name.clone(),
            uid: claim.uid.clone(),
            resource_version: claim.resource_version.clone(),
            label: self.target.label.clone(),
            snapshot: None,
        }
    }
}
