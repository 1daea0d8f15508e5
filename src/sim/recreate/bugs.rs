//! Known bugs of this kind of software, planted around the decision: each must break a guarantee.

use super::super::bugs::planted_bugs;
use super::objects::{AnewObjects, AnewStep};
use super::world::AnewWorld;
use crate::claims::Claim;
use crate::gate::StagedAt;
use crate::json::{Map, Value};
use crate::rollout::Snapshot;
use crate::rollout::snapshot_age::name;
use crate::rollout::volume_snapshot::{EvictionAnswer, VolumeSnapshot, VolumeSnapshotAnswer};
use crate::templates::{StagedChange, UpdatePolicy};

planted_bugs! { AnewBug:
    EvictsFirst: "S4: a Pod was evicted" and "is_terminating: false" in "crashes", "evicts the Pod before its PVC is deleted";
    DeletesSecond: "L8: a step was decided" and "others_are_there: false" in "crashes", "does not look at the other Pods";
    IgnoresBudget: "S4: a deletion was decided" and "may_be_evicted: false" in "the budget", "does not ask whether the Pod may be evicted";
    NoSnapshotOfTheLast: "S4: a deletion was decided" and "is_only: true" in "the only replica", "deletes the only replica";
    NoSnapshot: "S4: a deletion was decided" and "has_snapshot: false" in "snapshots", "deletes before the snapshot is ready";
    NoMark: "S4: a PVC was deleted" and "is_marked: false" in "crashes", "deletes a PVC without marking it";
    NoPreconditions: "S4: a PVC was deleted" and "is_ours: false" in "PVCs are deleted and taken over", "deletes whatever PVC has the name";
    DeletesForeign: "S4: a Pod was evicted" and "is_ours: false" in "PVCs are deleted and taken over", "does not look at whose PVC it is";
    EvictsForOthers: "S4: a Pod was evicted" and "is_marked: false" in "PVCs are deleted and taken over", "evicts the Pod of a PVC that a user deletes";
    IgnoresPause: "S4: a deletion was decided" and "is_paused: true" in "the user pauses and switches it off", "goes on while the rollout is paused";
    IgnoresSwitch: "S4: a deletion was decided" and "is_on: false" in "the user pauses and switches it off", "goes on under another update policy";
    DeletesAgain: "S4: a PVC was deleted" and "is_new: true" in "the policy is removed", "deletes a PVC again that was created without the policy";
    NeverEvicts: "L7: the rollout does not end" in "crashes", "deletes the PVC and waits for the Pod";
    ForgetsAfterMark: "L7: the rollout does not end" in "crashes", "takes a mark for a deletion";
    AgedSnapshot: "S4: a deletion was decided" and "has_snapshot: false" in "hours pass, and the class of snapshots changes", "counts a snapshot that is hours old";
    EarlierSnapshot: "S4: a deletion was decided" and "has_snapshot: false" in "withdrawn and staged again, with a snapshot", "counts the snapshot of an earlier staging";
    AnyClass: "S4: a deletion was decided" and "has_snapshot: false" in "hours pass, and the class of snapshots changes", "counts a snapshot of another class";
    TimeOfReport: "S4: a PVC was deleted" and "is_new: true" in "the policy is removed, and the report", "takes the time of the staging from the report";
    MovesForward: "S4: a PVC was deleted" and "is_new: true" in "the policy is removed", "writes the time of the staging again";
    TrustsItsClock: "S4: a PVC was deleted" and "is_new: true" in "the policy is removed, and the clock is ahead", "writes the time of its own clock";
    SameSecond: "S4: a PVC was deleted" and "is_new: true" in "a PVC is made in the second in which the staging is seen", "deletes a PVC of the same second";
    MarkSurvives: "L7: the rollout does not end" in "the user pauses or withdraws", "leaves the mark when the change is withdrawn or paused";
    BegunByAnyMark: "S4: a Pod was evicted" and "is_marked: false" in "withdrawn and staged again", "evicts for the mark of an earlier staging";
    LateWatch: "L8: a step was decided" and "others_are_there: false" in "Pods fail and are deleted", "decides on the Pods of its watch";
    AnyDifference: "S4: a PVC was deleted" and "differs: false" in "a growth, and a PVC of another class", "deletes a PVC that differed long before";
}

impl AnewBug {
    /// What the decision sees.
    pub(super) fn sees(self, seen: &mut Snapshot) {
        let now = seen.now;
        let label = seen.set.staged.as_ref().map(StagedChange::label);
        match self {
            Self::DeletesSecond => seen.pods.values_mut().for_each(|pod| pod.ready_since = Some(0)),
            Self::IgnoresBudget => {
                if let Some((_, answer)) = &mut seen.recreate.eviction {
                    *answer = EvictionAnswer::Allowed;
                }
            }
            Self::NoSnapshotOfTheLast => {
                seen.set.recreate_snapshot = Some("any".to_owned());
                for (claim, label) in seen.claims.values().zip(&label) {
                    let found = VolumeSnapshot {
                        claim: claim.name.clone(),
                        class: Some("any".to_owned()),
                        taken: Some(now),
                        is_ready: true,
                        ..VolumeSnapshot::default()
                    };
                    let answer = VolumeSnapshotAnswer::Found(found);
                    seen.recreate.volume_snapshots.insert(name(claim, label, 1), answer);
                }
            }
            Self::NoSnapshot => seen.set.recreate_snapshot = None,
            Self::DeletesForeign => seen.claims.values_mut().for_each(|claim| claim.owners.clear()),
            Self::IgnoresPause => seen.set.paused = false,
            Self::IgnoresSwitch => seen.set.update_policy = Some(UpdatePolicy::ReCreate),
            Self::DeletesAgain => {
                let pods = &seen.pods;
                let is_used = |claim: &&mut Claim| {
                    let mut users = pods.values().filter(|pod| pod.claims.contains(&claim.name));
                    users.all(|pod| pod.created > claim.created)
                };
                let used = seen.claims.values_mut().filter(is_used);
                used.for_each(|claim| claim.created = 0);
            }
            Self::ForgetsAfterMark => {
                let marked = seen.claims.values_mut().filter(|claim| claim.recreated_for.is_some());
                marked.for_each(|claim| claim.terminating = true);
            }
            _ => self.sees_staging(seen),
        }
    }

    /// What it sees of the staging: its time, its marks, its snapshots.
    fn sees_staging(self, seen: &mut Snapshot) {
        let now = seen.now;
        let label = seen.set.staged.as_ref().map(StagedChange::label);
        match self {
            Self::EvictsForOthers => {
                let terminating = seen.claims.values_mut().filter(|claim| claim.terminating);
                terminating.for_each(|claim| claim.recreated_for = label.as_ref().map(ToString::to_string));
            }
            Self::BegunByAnyMark => {
                let marked = seen.claims.values_mut().filter(|claim| claim.recreated_for.is_some());
                marked.for_each(|claim| claim.recreated_for = label.as_ref().map(ToString::to_string));
            }
            Self::AgedSnapshot | Self::EarlierSnapshot | Self::AnyClass => {
                let class = seen.set.recreate_snapshot.clone();
                for answer in seen.recreate.volume_snapshots.values_mut() {
                    if let VolumeSnapshotAnswer::Found(found) = answer {
                        match self {
                            Self::AnyClass => found.class.clone_from(&class),
                            _ => found.taken = Some(now),
                        }
                    }
                }
            }
            Self::TimeOfReport => {
                let reported = seen
                    .previous
                    .as_ref()
                    .map_or(now, |previous| previous.started.unwrap_or(now));
                seen.set.staged_at = StagedAt::At(reported);
            }
            Self::MovesForward => {
                let newest = seen.claims.values().map(|claim| claim.created).max();
                if matches!(seen.set.staged_at, StagedAt::At(at) if newest > Some(at)) {
                    seen.set.staged_at = StagedAt::Absent;
                }
            }
            Self::SameSecond => {
                if let StagedAt::At(at) = &mut seen.set.staged_at {
                    *at += 1;
                }
            }
            Self::LateWatch => seen.recreate.live = Some(Ok(())),
            Self::AnyDifference => {
                let mut spec = Map::new();
                spec.insert("storageClassName".to_owned(), Value::String("none".into()));
                seen.set.live.iter_mut().for_each(|live| live.spec = spec.clone());
            }
            _ => {}
        }
    }

    /// What is decided instead of a step.
    pub(super) fn decides(self, step: AnewStep, seen: &AnewObjects) -> Option<AnewStep> {
        match (self, step) {
            (Self::EvictsFirst, AnewStep::Mark(index, _, _, staging)) => {
                seen.pods[index].map(|pod| AnewStep::Evict(index, pod.uid, staging))
            }
            (Self::NoMark, AnewStep::Mark(index, number, version, staging)) => {
                Some(AnewStep::Delete(index, number, version, staging))
            }
            (Self::MarkSurvives, AnewStep::Unmark(..)) => None,
            (Self::NeverEvicts | Self::ForgetsAfterMark, AnewStep::Evict(..)) => None,
            _ => Some(step),
        }
    }

    /// What is sent instead of a step. The shell writes the earlier of two clocks.
    pub(super) fn sent(self, step: AnewStep, world: &AnewWorld) -> AnewStep {
        match (self, step) {
            (Self::NoPreconditions, AnewStep::Delete(index, number, version, staging)) => {
                let claim = world.objects.claims[index];
                let (number, version) = claim.map_or((number, version), |claim| (claim.number, claim.version));
                AnewStep::Delete(index, number, version, staging)
            }
            (Self::TrustsItsClock, AnewStep::SeenAt(..)) => step,
            (_, AnewStep::SeenAt(staging, at)) => AnewStep::SeenAt(staging, at.min(world.stamp())),
            _ => step,
        }
    }
}
