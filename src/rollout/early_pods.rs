//! Pods that were replaced before their PVCs were updated, although the policy keeps each of them until then: it was not
//! asked, or somebody deleted or evicted the Pod.

use std::collections::BTreeMap;

use super::action::{EventNotice, Reason};
use super::assessment::{At, ClaimAssessment};
use super::replica::Replica;
use super::snapshot::Snapshot;
use crate::gate::Target;
use crate::templates::{Phase, Strategy, Sync};

/// The uids of the Pods that wait for their PVCs, by name.
pub type WaitingPods = BTreeMap<String, String>;

/// The Pods of a rollout whose Pods wait for their PVCs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlyPods {
    /// Those of the old revision that wait.
    waiting: WaitingPods,
    /// The names of those that do not exist now.
    absent: Vec<String>,
    /// Those of the new revision that have an outdated PVC: name and uid of the Pod, and the Event if it waited before.
    early: Vec<(String, String, EventNotice)>,
}

impl EarlyPods {
    /// The Pods of these replicas. There are none if Pods do not wait.
    #[must_use]
    pub fn of(snapshot: &Snapshot, target: &Target<'_>, replicas: &[Replica<'_>]) -> Self {
        let set = &snapshot.set;
        let mut pods = Self::default();
        let waits = set.sync == Sync::LockStep && set.strategy == Strategy::RollingUpdate && set.replaces_pods();
        if !waits || !set.status_is_current || target.change.phase != Phase::RollingOut {
            return pods;
        }
        let outdated = |claim: &&ClaimAssessment<'_>| claim.at == At::Outdated && claim.keeps_pod;
        for replica in replicas.iter().filter(|replica| replica.restraint.is_none()) {
            let name = set.pod_name(replica.ordinal);
            match (replica.pod_at, replica.pod, replica.claims.iter().find(outdated)) {
                (At::Outdated, Some(pod), Some(_)) => _ = pods.waiting.insert(name, pod.uid.clone()),
                (At::Updated, Some(pod), Some(claim)) => {
                    let notice = notice(snapshot, target, &name, claim);
                    pods.early.push((name, pod.uid.clone(), notice));
                }
                (At::Absent, ..) => pods.absent.push(name),
                _ => {}
            }
        }
        pods
    }

    /// The Events for Pods that waited before and were replaced since, and those that wait now.
    #[must_use]
    pub fn after(&self, before: &WaitingPods) -> (Vec<EventNotice>, WaitingPods) {
        let early = self.early.iter();
        let early = early.filter(|(name, uid, _)| before.get(name).is_some_and(|before| before != uid));
        let mut waiting = self.waiting.clone();
        let absent = self.absent.iter().filter_map(|name| before.get_key_value(name));
        waiting.extend(absent.map(|(name, uid)| (name.clone(), uid.clone())));
        (early.map(|(_, _, notice)| notice.clone()).collect(), waiting)
    }
}

fn notice(snapshot: &Snapshot, target: &Target<'_>, pod: &str, claim: &ClaimAssessment<'_>) -> EventNotice {
    let uid = claim.claim.map(|claim| claim.uid.clone()).unwrap_or_default();
    EventNotice {
        set_uid: snapshot.set.uid.clone(),
        claim: Some((claim.name.to_string(), uid)),
        reason: Reason::PodReplacedEarly,
        message: format!(
            "Pod {pod} was replaced before {} was updated to revision {}: the policy was not asked, or somebody deleted or \
             evicted the Pod",
            claim.name, target.label.revision
        ),
    }
}
