//! Known bugs of this kind of software, planted around the decision: each must break a guarantee.

use super::objects::{AnewObjects, AnewStep};
use crate::claims::Claim;
use crate::rollout::volume_snapshot::{EvictionAnswer, VolumeSnapshot, VolumeSnapshotAnswer, name};
use crate::rollout::{PodView, Snapshot};
use crate::templates::{StagedChange, UpdatePolicy};

macro_rules! bugs {
    ($($name:ident: $rule:literal in $scope:literal, $effect:literal;)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub(super) enum AnewBug {
            /// None.
            #[default]
            None,
            $(#[doc = $effect] $name,)+
        }

        impl AnewBug {
            /// All bugs.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)+];

            /// The guarantee that it breaks.
            pub(super) const fn breaks(self) -> &'static str {
                match self { Self::None => "", $(Self::$name => $rule,)+ }
            }

            /// The scope in which it does.
            pub(super) const fn scope(self) -> &'static str {
                match self { Self::None => "", $(Self::$name => $scope,)+ }
            }

            /// The effect.
            pub(super) const fn effect(self) -> &'static str {
                match self { Self::None => "", $(Self::$name => $effect,)+ }
            }
        }
    };
}

bugs! {
    EvictsFirst: "S4" in "crashes", "evicts the Pod before its PVC is deleted";
    DeletesSecond: "L8" in "crashes", "does not look at the other Pods";
    TrustsLatePod: "L8" in "crashes", "takes the Pod of before for the one that uses the new PVC";
    IgnoresBudget: "S4" in "the budget", "does not ask whether the Pod may be evicted";
    NoSnapshotOfTheLast: "S4" in "the only replica", "deletes the only replica";
    NoSnapshot: "S4" in "snapshots", "deletes before the snapshot is ready";
    NoMark: "S4" in "crashes", "deletes a PVC without marking it";
    NoPreconditions: "S4" in "PVCs are deleted and taken over", "deletes whatever PVC has the name";
    DeletesForeign: "S4" in "PVCs are deleted and taken over", "does not look at whose PVC it is";
    EvictsForOthers: "S4" in "PVCs are deleted and taken over", "evicts the Pod of a PVC that a user deletes";
    IgnoresPause: "S4" in "the user pauses and switches it off", "goes on while the rollout is paused";
    IgnoresSwitch: "S4" in "the user pauses and switches it off", "goes on under another update policy";
    DeletesAgain: "S4" in "the policy is removed", "deletes a PVC again that was created without the policy";
    NeverEvicts: "L7" in "crashes", "deletes the PVC and waits for the Pod";
    ForgetsAfterMark: "L7" in "crashes", "takes a mark for a deletion";
}

impl AnewBug {
    /// What the decision sees.
    pub(super) fn sees(self, seen: &mut Snapshot) {
        let now = seen.now;
        match self {
            Self::DeletesSecond => seen.pods.values_mut().for_each(|pod| pod.ready_since = Some(0)),
            Self::TrustsLatePod => {
                let claims = &seen.claims;
                let is_going = |pod: &&mut PodView| {
                    let mut used = pod.claims.iter().filter_map(|name| claims.get(name));
                    used.any(|claim| claim.terminating)
                };
                let pods = seen.pods.values_mut().filter(|pod| !is_going(pod));
                pods.for_each(|pod| pod.created = now);
            }
            Self::IgnoresBudget => {
                if let Some((_, answer)) = &mut seen.recreate.eviction {
                    *answer = EvictionAnswer::Allowed;
                }
            }
            Self::NoSnapshotOfTheLast => {
                seen.set.recreate_snapshot = Some("any".to_owned());
                let revision = seen.set.staged.as_ref().map(StagedChange::revision);
                for (claim, revision) in seen.claims.values().zip(revision) {
                    let found = VolumeSnapshot {
                        claim: claim.name.clone(),
                        is_ready: true,
                        ..VolumeSnapshot::default()
                    };
                    let answer = VolumeSnapshotAnswer::Found(found);
                    seen.recreate.volume_snapshots.insert(name(claim, &revision), answer);
                }
            }
            Self::NoSnapshot => seen.set.recreate_snapshot = None,
            Self::DeletesForeign => {
                let ours = seen.set.match_labels.clone();
                for (key, value) in ours.iter() {
                    for claim in seen.claims.values_mut() {
                        claim.labels.insert(key.to_string(), value.clone());
                    }
                }
            }
            Self::EvictsForOthers => {
                let terminating = seen.claims.values_mut().filter(|claim| claim.terminating);
                terminating.for_each(|claim| claim.recreated_for = Some("any".to_owned()));
            }
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
            _ => {}
        }
    }

    /// What is decided instead of a step.
    pub(super) fn decides(self, step: AnewStep, seen: &AnewObjects) -> Option<AnewStep> {
        match (self, step) {
            (Self::EvictsFirst, AnewStep::Mark(index, ..)) => {
                seen.pods[index].map(|pod| AnewStep::Evict(index, pod.uid))
            }
            (Self::NoMark, AnewStep::Mark(index, number, version)) => Some(AnewStep::Delete(index, number, version)),
            (Self::NeverEvicts | Self::ForgetsAfterMark, AnewStep::Evict(..)) => None,
            _ => Some(step),
        }
    }

    /// What is sent instead of a step.
    pub(super) fn sent(self, step: AnewStep, now: &AnewObjects) -> AnewStep {
        match (self, step) {
            (Self::NoPreconditions, AnewStep::Delete(index, number, version)) => {
                let (number, version) =
                    now.claims[index].map_or((number, version), |claim| (claim.number, claim.version));
                AnewStep::Delete(index, number, version)
            }
            _ => step,
        }
    }
}
