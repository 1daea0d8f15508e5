//! One replica: its Pod and its claims.

use super::assessment::{At, ClaimAssessment};
use super::recreate_need::ReCreateNeed;
use super::restraint::Restraint;
use super::snapshot::{PodView, Snapshot};
use super::{recreate_need, restraint};
use crate::claims::compatible::in_place;
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, Foreign};
use crate::gate::{ClaimState, SetView, Target, keeps_pod, readiness, target};
use crate::templates::ClaimName;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One replica of a StatefulSet.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica<'a> {
    /// The ordinal of the replica.
    pub ordinal: u32,
    /// The replica was scaled away since the change was staged.
    pub scaled_away: bool,
    /// The Pod of the replica, if it exists.
    pub pod: Option<&'a PodView>,
    /// The revision of the Pod.
    pub pod_at: At,
    /// Why no claim of the replica may be written, if so.
    pub restraint: Option<Restraint>,
    /// The claims, in the order of the desired templates.
    pub claims: Vec<ClaimAssessment<'a>>,
}

/// The replicas in range. Those that were scaled away come after them.
#[must_use]
pub fn in_range<'r, 'a>(replicas: &'r [Replica<'a>]) -> &'r [Replica<'a>] {
    let end = replicas.iter().position(|replica| replica.scaled_away);
    &replicas[..end.unwrap_or(replicas.len())]
}

/// The Pods that mount each claim, by the name of the claim.
pub type Mounting<'a> = BTreeMap<&'a str, Vec<&'a PodView>>;

/// The Pods that mount each claim.
#[must_use]
pub fn mounting(snapshot: &Snapshot) -> Mounting<'_> {
    let mut mounting = Mounting::new();
    for pod in snapshot.pods.values() {
        for claim in &pod.claims {
            mounting.entry(claim).or_default().push(pod);
        }
    }
    mounting
}

/// Why the claim of the replica with this ordinal does not belong to the set.
pub(super) fn foreign(
    snapshot: &Snapshot,
    name: &ClaimName,
    claim: &Claim,
    (ordinal, mounting): (u32, &Mounting<'_>),
) -> Option<Foreign> {
    let (pod_name, selector) = (snapshot.set.pod_name(ordinal), snapshot.set.selector());
    let pod = snapshot.pod_of(ordinal);
    let belongs = Belongs {
        set_uid: &snapshot.set.uid,
        pod: &pod_name,
        pod_uid: pod.map_or(PodUid::NoPod, |pod| PodUid::Is(&pod.uid)),
        match_labels: &selector,
    };
    let mounting = mounting.get(claim.name.as_str()).map_or(&[][..], Vec::as_slice);
    snapshot.foreign(name, claim, &belongs, mounting)
}

impl<'a> Replica<'a> {
    /// Assesses one replica of the snapshot.
    #[must_use]
    pub fn assess(snapshot: &'a Snapshot, target: &Target<'a>, mounting: &Mounting<'_>, ordinal: u32) -> Self {
        let pod = snapshot.pod_of(ordinal);
        let pod_name = snapshot.set.pod_name(ordinal);
        let pod_at = At::of_pod(pod, &snapshot.set);
        let restraint = restraint::find(snapshot, snapshot.desired(&target.label.revision), ordinal, pod);
        let claims = target.change.templates.iter().filter_map(|template| {
            // Target::staged checked that every name is valid.
            let name = ClaimName::new(&template.name, &snapshot.set.name, ordinal).ok()?;
            let claim = snapshot.claims.get(name.as_str());
            let frozen = target::frozen(&snapshot.set, &snapshot.settings);
            // It is created when the set has been replaced.
            if claim.is_none() && !snapshot.set.has_live(&template.name) {
                return None;
            }
            let template = claim.map_or(Cow::Borrowed(template), |claim| in_place(template, claim, frozen));
            let mut assessment = ClaimAssessment {
                claim,
                ..ClaimAssessment::missing(name, template, pod_at)
            };
            if let Some(claim) = claim {
                let template = &assessment.template;
                assessment.keeps_pod = keeps_pod(claim, template, (&snapshot.set.uid, &pod_name), &target.label);
                let at_target = readiness::is_at(claim, template, &target.label);
                let foreign = foreign(snapshot, &assessment.name, claim, (ordinal, mounting));
                let mounting = mounting.get(claim.name.as_str()).map_or(&[][..], Vec::as_slice);
                assessment.recreate_need = if foreign.is_some() {
                    None
                } else if claim.terminating {
                    let mark = claim.recreated_for.as_ref();
                    mark.is_some_and(|mark| target.label.is(mark))
                        .then_some(ReCreateNeed::Begun)
                } else if target::recreates(&snapshot.set) {
                    recreate_need::find(snapshot, template, claim, &target.label)
                } else {
                    None
                };
                let failed = snapshot
                    .refusals
                    .get(&claim.uid)
                    // If the claim may not be written now, the failure does not matter. Another controller does not
                    // know of it.
                    .filter(|failed| failed.label == target.label && restraint.is_none());
                assessment.judge(claim, at_target, foreign.as_ref(), failed, snapshot.now);
                assessment.explain_anew(claim, mounting);
            }
            Some(assessment)
        });
        let scaled_away = !snapshot.set.has(ordinal);
        let claims = claims.filter(|claim| !scaled_away || claim.can_follow());
        Self {
            ordinal,
            scaled_away,
            pod,
            pod_at,
            restraint,
            claims: claims.collect(),
        }
    }

    /// True iff every claim is updated and ready.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.claims.iter().all(|claim| claim.state == ClaimState::Done)
    }

    /// True iff an outdated claim may be written: the rollout is not complete.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.restraint.is_none() && self.claims.iter().any(|claim| claim.state == ClaimState::Pending)
    }

    /// True iff somebody must act before a claim can make progress.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.claims.iter().any(|claim| claim.state.is_stalled())
    }

    /// True iff the Pod exists, is not being deleted, and is not Ready.
    #[must_use]
    pub fn is_unready(&self) -> bool {
        self.pod
            .is_some_and(|pod| pod.ready_since.is_none() && pod.deleted.is_none())
    }

    /// True iff a claim has to be deleted and created anew.
    #[must_use]
    pub fn is_deleted_next(&self) -> bool {
        self.claims
            .iter()
            .any(|claim| matches!(claim.recreate_need, Some(ReCreateNeed::Due(_))))
    }

    /// True iff the storage is working on a claim. Work of the node does not count, because it may wait for a Pod.
    #[must_use]
    pub fn is_in_motion(&self) -> bool {
        self.claims.iter().any(ClaimAssessment::is_in_motion)
    }

    /// The claims that are being deleted, to be created anew.
    pub fn begun(&self) -> impl Iterator<Item = &ClaimAssessment<'a>> {
        let is_begun = |claim: &&ClaimAssessment<'a>| claim.recreate_need == Some(ReCreateNeed::Begun);
        self.claims.iter().filter(is_begun)
    }

    /// True iff no claim keeps the Pod from being replaced (S7).
    #[must_use]
    pub fn lets_pod_go(&self) -> bool {
        self.claims.iter().all(|claim| !claim.keeps_pod)
    }

    /// True iff no claim keeps the Pod from being replaced, and one may have kept it before. A claim without a volume
    /// never keeps it, and a missing claim is checked when it exists.
    #[must_use]
    pub fn has_become_ready(&self) -> bool {
        let has_kept = |state| !matches!(state, ClaimState::Unbound | ClaimState::Missing);
        self.lets_pod_go() && self.claims.iter().any(|claim| has_kept(claim.state))
    }

    /// True iff no claim keeps the next replica waiting.
    #[must_use]
    pub fn lets_pass(&self, set: &SetView) -> bool {
        self.claims.iter().all(|claim| claim.lets_pass(set))
    }

    /// True iff the claims that keep the next replica waiting all need a Pod to make progress.
    #[must_use]
    pub fn waits_for_its_pod(&self, set: &SetView) -> bool {
        let waits = |claim: &ClaimAssessment<'_>| claim.state == ClaimState::Unbound || claim.needs_pod();
        !self.is_in_motion() && self.claims.iter().all(|claim| claim.lets_pass(set) || waits(claim))
    }
}
