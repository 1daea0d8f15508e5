//! One replica: where its Pod and its claims are, and what KEP-4650 says to do about each claim.

use std::collections::BTreeMap;

use super::action::ApplyClaim;
use super::kept::{self, Kept};
use super::readiness::{self, ClaimState};
use super::snapshot::{PodManagement, PodView, Refusal, Seconds, SetView, Snapshot, Strategy};
use super::target::Target;
use crate::claims::compatible::differences;
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, Foreign};
use crate::templates::rules::Shrink;
use crate::templates::show::shown;
use crate::templates::{ClaimName, ClaimTemplate, FrozenChange, Quantity, keys};

/// Where a Pod or a claim is on its way from revision A to revision B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// It does not exist, or is about to stop existing.
    Absent,
    /// At any other revision than the one that is wished.
    Outdated,
    /// At the revision that is wished: for a claim the wish's, for a Pod the set's update revision.
    Updated,
}

impl At {
    /// Where a Pod of the set is; a status from before the last change of the set may take an older revision for B.
    #[must_use]
    pub fn of_pod(pod: Option<&PodView>, set: &SetView) -> Self {
        match pod.filter(|pod| pod.deleted.is_none()) {
            None => Self::Absent,
            Some(pod) if pod.revision == set.update_revision => Self::B,
            Some(_) => Self::A,
        }
    }
}

/// What to do about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The StatefulSet controller makes what is missing.
    Nothing,
    /// Bring it to B.
    Apply,
    /// Wait until it is ready.
    Wait,
}

/// The table of KEP-4650 in the order of its newer text, for changes of claims alone.
#[must_use]
pub const fn step(pod: At, claim: At) -> Step {
    match (pod, claim) {
        (At::Absent, At::Absent) => Step::Nothing,
        (At::Absent, At::Outdated) => Step::Apply,
        // Only for what needs no Pod: the volume, but neither the file system nor the first consumer.
        (At::Absent, At::Updated) => Step::Wait,
        (At::Outdated, At::Absent) => Step::Nothing,
        (At::Outdated, At::Outdated) => Step::Apply,
        (At::Outdated, At::Updated) => Step::Wait,
        (At::Updated, At::Absent) => Step::Nothing,
        (At::Updated, At::Outdated) => Step::Apply,
        (At::Updated, At::Updated) => Step::Wait,
    }
}

/// One replica of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica<'a> {
    /// Its ordinal.
    pub ordinal: u32,
    /// Its Pod.
    pub pod: Option<&'a PodView>,
    /// Where its Pod is.
    pub pod_at: At,
    /// What keeps its claims from being written, whatever they are.
    pub kept: Option<Kept>,
    /// Its claims, in the order of the wanted templates.
    pub claims: Vec<ClaimAssessment<'a>>,
}

/// How one claim stands.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimAssessment<'a> {
    /// Its name.
    pub name: ClaimName,
    /// What it is to become.
    pub template: &'a ClaimTemplate,
    /// What it is.
    pub claim: Option<&'a Claim>,
    /// Where the replica's Pod is.
    pub pod_at: At,
    /// Where the claim is.
    pub at: At,
    /// How far it has come.
    pub state: ClaimState,
    /// Whether it keeps the Pod from being replaced: the rule of the gate.
    pub keeps_pod: bool,
    /// Why, as one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// When a refused claim may be tried again.
    pub retry_at: Option<Seconds>,
}

/// The Pods that mount each claim, by the name of the claim.
pub type Mounting<'a> = BTreeMap<&'a str, Vec<&'a PodView>>;

/// Which Pods mount which claims.
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

impl<'a> Replica<'a> {
    /// How the replica stands in the snapshot.
    #[must_use]
    pub fn assess(snapshot: &'a Snapshot, target: &Target<'a>, mounting: &Mounting<'_>, ordinal: u32) -> Self {
        let pod = snapshot.pod_of(ordinal);
        let pod_at = At::of_pod(pod, &snapshot.set);
        let kept = kept::kept(snapshot, snapshot.desired(&target.revision), ordinal, pod);
        let (pod_name, selector) = (format!("{}-{ordinal}", snapshot.set.name), snapshot.set.selector());
        let belongs = Belongs {
            set_uid: &snapshot.set.uid,
            pod: &pod_name,
            pod_uid: pod.map_or(PodUid::NoPod, |pod| PodUid::Is(&pod.uid)),
            match_labels: &selector,
        };
        let claims = target.change.templates.iter().filter_map(|template| {
            // Names that cannot be made were refused with the wish.
            let name = ClaimName::new(&template.name, &snapshot.set.name, ordinal).ok()?;
            let claim = snapshot.claims.get(name.as_str());
            let mut standing = ClaimAssessment {
                name,
                template,
                claim,
                pod_at,
                at: At::Absent,
                state: ClaimState::Missing,
                keeps_pod: false,
                reason: "NotFound".to_owned(),
                message: "waits for the StatefulSet controller to make it".to_owned(),
                retry_at: None,
            };
            if let Some(claim) = claim {
                standing.keeps_pod = readiness::keeps_pod(claim, template, &target.revision);
                let mounting = mounting.get(claim.name.as_str()).map_or(&[][..], Vec::as_slice);
                let foreign = snapshot.foreign(&standing.name, claim, &belongs, mounting);
                let refusal = snapshot
                    .refusals
                    .get(&claim.uid)
                    // One that is not to be written any more is not in the way, and another controller does not know of it.
                    .filter(|refusal| refusal.revision == target.revision && kept.is_none());
                standing.judge(
                    claim,
                    readiness::is_at(claim, template, &target.revision),
                    foreign.as_ref(),
                    refusal,
                    snapshot.now,
                );
            }
            Some(standing)
        });
        Self {
            ordinal,
            pod,
            pod_at,
            kept,
            claims: claims.collect(),
        }
    }

    /// True iff every claim is at the wish and ready.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.claims.iter().all(|claim| claim.state == ClaimState::Done)
    }

    /// True iff somebody has to do something about a claim before it goes on.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.claims.iter().any(|claim| claim.state.is_stalled())
    }

    /// True iff its Pod is there, and not Ready.
    #[must_use]
    pub fn is_unready(&self) -> bool {
        self.pod
            .is_some_and(|pod| pod.ready_since.is_none() && pod.deleted.is_none())
    }

    /// True iff the storage is working on a claim. The node is not: it may be waiting for a Pod.
    #[must_use]
    pub fn is_in_motion(&self) -> bool {
        let mut states = self.claims.iter().map(|claim| claim.state);
        states.any(|state| state.is_in_motion() && state != ClaimState::NodeExpanding)
    }

    /// True iff no claim keeps the Pod from being replaced (S7).
    #[must_use]
    pub fn lets_pod_go(&self) -> bool {
        self.claims.iter().all(|claim| !claim.keeps_pod)
    }

    /// True iff no claim keeps the Pod from being replaced, and one may have: one without a volume never has, and one that
    /// is not there will have to be looked at when it is.
    #[must_use]
    pub fn has_become_ready(&self) -> bool {
        let has_kept = |state| !matches!(state, ClaimState::Unbound | ClaimState::Missing);
        self.lets_pod_go() && self.claims.iter().any(|claim| has_kept(claim.state))
    }

    /// True iff nothing here keeps the next replica waiting.
    #[must_use]
    pub fn lets_pass(&self, set: &SetView) -> bool {
        self.claims.iter().all(|claim| claim.lets_pass(set))
    }

    /// True iff what keeps the next replica waiting is only what a Pod could move on.
    #[must_use]
    pub fn waits_for_its_pod(&self, set: &SetView) -> bool {
        let waits = |claim: &ClaimAssessment<'_>| claim.state == ClaimState::Unbound || claim.needs_pod();
        self.claims.iter().all(|claim| claim.lets_pass(set) || waits(claim))
    }
}

impl ClaimAssessment<'_> {
    fn judge(
        &mut self,
        claim: &Claim,
        at_target: bool,
        foreign: Option<&Foreign>,
        refusal: Option<&Refusal>,
        now: Seconds,
    ) {
        let (at, state, reason, message) = if claim.terminating {
            (
                At::Absent,
                ClaimState::Terminating,
                "Deleted".to_owned(),
                "is being deleted".to_owned(),
            )
        } else if at_target && !refusal.is_some_and(|refusal| refusal.is_of_reply(claim)) {
            let state = readiness::state_at_target(claim, self.template);
            let (reason, message) = readiness::explain(state, claim, self.template);
            (At::Updated, state, reason, message)
        } else if let Some(foreign) = foreign {
            (
                At::Outdated,
                ClaimState::Foreign,
                foreign.as_str().to_owned(),
                foreign.to_string(),
            )
        } else if let Some(change) = differences(self.template, &claim.spec).next() {
            let (reason, message) = explain_difference(&change);
            (At::Outdated, ClaimState::Refused, reason, message)
        } else if !claim.bound {
            let (reason, message) = readiness::explain(ClaimState::Unbound, claim, self.template);
            (At::Outdated, ClaimState::Unbound, reason, message)
        } else if let Some(refusal) = refusal {
            let changed = refusal.resource_version != claim.resource_version && !refusal.is_by_others();
            self.retry_at = Some(if changed { 0 } else { refusal.retry_at(now) });
            (
                At::Outdated,
                ClaimState::Refused,
                refusal.cause.clone(),
                refusal.message.clone(),
            )
        } else {
            (
                At::Outdated,
                ClaimState::Pending,
                readiness::WAITING.to_owned(),
                "not yet reached".to_owned(),
            )
        };
        (self.at, self.state, self.reason, self.message) = (at, state, reason, message);
    }

    /// True iff the table says so and nothing speaks against writing the claim now.
    #[must_use]
    pub fn wants_apply(&self, now: Seconds) -> bool {
        let free = match self.state {
            ClaimState::Pending => true,
            ClaimState::Refused => self.retry_at.is_some_and(|retry_at| retry_at <= now),
            _ => false,
        };
        free && step(self.pod_at, self.at) == Step::Apply
    }

    /// True iff the next replica need not wait for this claim.
    ///
    /// What is stuck stops the others with OrderedReady and not with Parallel (KEP-0661), where a claim that has no volume
    /// yet is somebody else's to wait for. What only a Pod could move on does not stop them while there is no Pod, or where
    /// all Pods are deleted before one is made: with OrderedReady the Pod may be waiting for a lower one, whose full disk is
    /// what is to be grown.
    #[must_use]
    pub fn lets_pass(&self, set: &SetView) -> bool {
        let parallel = set.pod_management == PodManagement::Parallel;
        let is_replaced = set.strategy == Strategy::Recreate && self.pod_at == At::Outdated;
        let needs_no_wait = self.needs_pod() && (self.pod_at == At::Absent || is_replaced);
        match self.state {
            ClaimState::Done | ClaimState::Missing | ClaimState::Terminating => true,
            ClaimState::NodeExpanding => needs_no_wait,
            ClaimState::Infeasible => parallel || needs_no_wait,
            ClaimState::Unbound => parallel || self.pod_at == At::Absent,
            ClaimState::Refused | ClaimState::Foreign => parallel,
            ClaimState::Pending | ClaimState::Applied | ClaimState::Expanding | ClaimState::Modifying => false,
        }
    }

    /// True iff it was written, and only a Pod could move it on.
    fn needs_pod(&self) -> bool {
        match self.state {
            ClaimState::NodeExpanding => true,
            ClaimState::Infeasible => self.claim.is_some_and(readiness::needs_pod),
            _ => false,
        }
    }

    /// The apply that brings the claim to the wish; `None` if there is no claim.
    ///
    /// The size is never smaller than what the claim asks for (S1), unless it takes back a growth that was ours and never
    /// reached. Keys of the selector keep the selector's values, as when the StatefulSet controller made the claim. A wish
    /// without an attributes class leaves the claim's as it is.
    #[must_use]
    pub fn apply(&self, snapshot: &Snapshot, target: &Target<'_>) -> Option<ApplyClaim> {
        let claim = self.claim?;
        let kept = claim.class.clone().filter(|_| claim.class_is_ours);
        let owned = |(key, value): (&String, &String)| (key.clone(), value.clone());
        let labels = self
            .template
            .labels
            .iter()
            .filter(|(key, _)| !snapshot.set.match_labels.contains_key(key));
        let wanted = self.template.storage.unwrap_or(claim.request);
        let recovers = snapshot.settings.shrink == Shrink::Recover;
        let lowered = recovers.then(|| lowered(claim, wanted)).flatten();
        Some(ApplyClaim {
            name: self.name.clone(),
            uid: claim.uid.clone(),
            resource_version: claim.resource_version.clone(),
            storage: lowered.unwrap_or_else(|| wanted.max(claim.request)),
            taken_back: lowered.map(|_| claim.request),
            volume_attributes_class_name: self.template.volume_attributes_class_name.clone().or(kept),
            labels: labels.map(owned).collect(),
            annotations: self.template.annotations.iter().map(owned).collect(),
            revision: target.revision.clone(),
        })
    }
}

/// In steps of so many bytes volumes are asked for; most drivers round up to more.
const STEP: u64 = 1 << 20;

/// What a claim may ask for instead, where it asks for more than is wanted because of a growth that is ours and was never
/// reached, so that it may be taken back (KEP-0661, KEP-1790): what is wanted, or the least that the API server takes, which
/// is more than the capacity. So a claim that has what is wanted asks for a step more than it has.
///
/// A growth is ours if an earlier wish was applied to the claim, and that apply alone made the size what it is: what a
/// human or an autoscaler asked for stays.
fn lowered(claim: &Claim, wanted: Quantity) -> Option<Quantity> {
    let ours = claim.size_is_ours && claim.labels.contains_key(keys::REVISION);
    let steps = claim.capacity?.bytes().ok()? / STEP;
    let least = Quantity::from_bytes((steps + 1).checked_mul(STEP)?);
    let lowered = wanted.max(least);
    (ours && lowered < claim.request).then_some(lowered)
}

/// Why a claim is not written at all, as one word and in words.
fn explain_difference(change: &FrozenChange) -> (String, String) {
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), shown);
    let message = format!(
        "expected {} {} as in the template, but found {}, which cannot change in place",
        change.field,
        value(&change.from),
        value(&change.to)
    );
    ("Differs".to_owned(), message)
}
