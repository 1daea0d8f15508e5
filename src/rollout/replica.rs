//! One replica: the revisions of its Pod and claims, and the step that KEP-4650 defines for each claim.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::action::ApplyClaim;
use super::anew::{Anew, anew};
use super::kept::{self, KeptBack};
use super::lowered::lowered;
use super::readiness::{self, ClaimState};
use super::snapshot::{PodManagement, PodView, Refusal, Seconds, SetView, Snapshot, Strategy};
use super::target::{self, Target};
use crate::claims::compatible::{differences, in_place};
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Claim, Foreign, belongs};
use crate::templates::rules::Shrink;
use crate::templates::show::shown;
use crate::templates::{ClaimName, ClaimTemplate, FrozenChange, keys};

/// The revision of a Pod or a claim: outdated is A in the table of KEP-4650, updated is B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The object does not exist, or is being deleted.
    Absent,
    /// The object has another revision than the target.
    Outdated,
    /// A claim has the target revision, or a Pod has the update revision of the set.
    Updated,
}

impl At {
    /// The revision of a Pod. A status from before the last change of the set may name an older update revision.
    #[must_use]
    pub fn of_pod(pod: Option<&PodView>, set: &SetView) -> Self {
        match pod.filter(|pod| pod.deleted.is_none()) {
            None => Self::Absent,
            Some(pod) if pod.revision == set.update_revision => Self::Updated,
            Some(_) => Self::Outdated,
        }
    }
}

/// The next step for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimStep {
    /// Nothing: the StatefulSet controller creates the claim.
    Nothing,
    /// Apply the desired template.
    Apply,
    /// Wait until the claim is ready.
    Wait,
}

/// The table of KEP-4650 in the order of its newer text, for changes of claims alone.
#[must_use]
pub const fn step(pod: At, claim: At) -> ClaimStep {
    match (pod, claim) {
        (At::Absent, At::Absent) => ClaimStep::Nothing,
        (At::Absent, At::Outdated) => ClaimStep::Apply,
        // Waits for the volume only: the file system and the first consumer need a Pod.
        (At::Absent, At::Updated) => ClaimStep::Wait,
        (At::Outdated, At::Absent) => ClaimStep::Nothing,
        (At::Outdated, At::Outdated) => ClaimStep::Apply,
        (At::Outdated, At::Updated) => ClaimStep::Wait,
        (At::Updated, At::Absent) => ClaimStep::Nothing,
        (At::Updated, At::Outdated) => ClaimStep::Apply,
        (At::Updated, At::Updated) => ClaimStep::Wait,
    }
}

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
    pub kept: Option<KeptBack>,
    /// The claims, in the order of the desired templates.
    pub claims: Vec<ClaimAssessment<'a>>,
}

/// The assessment of one claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimAssessment<'a> {
    /// The name of the claim.
    pub name: ClaimName,
    /// The desired template, or what an existing claim can get of it.
    pub template: Cow<'a, ClaimTemplate>,
    /// The claim, if it exists.
    pub claim: Option<&'a Claim>,
    /// The revision of the Pod of the replica.
    pub pod_at: At,
    /// The revision of the claim.
    pub at: At,
    /// The state of the claim.
    pub state: ClaimState,
    /// What `ReCreate` means for the claim.
    pub anew: Option<Anew>,
    /// True iff the gate keeps the Pod because of this claim.
    pub keeps_pod: bool,
    /// The reason for the state.
    pub reason: String,
    /// The message for users.
    pub message: String,
    /// When a failed apply may be retried.
    pub retry_at: Option<Seconds>,
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
    let (pod_name, selector) = (format!("{}-{ordinal}", snapshot.set.name), snapshot.set.selector());
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
        let pod_name = format!("{}-{ordinal}", snapshot.set.name);
        let pod_at = At::of_pod(pod, &snapshot.set);
        let kept = kept::kept(snapshot, snapshot.desired(&target.label.revision), ordinal, pod);
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
                let is_asked = belongs(claim, &snapshot.set.uid, &pod_name);
                assessment.keeps_pod = is_asked && readiness::keeps_pod(claim, template, &target.label);
                let at_target = readiness::is_at(claim, template, &target.label);
                let foreign = foreign(snapshot, &assessment.name, claim, (ordinal, mounting));
                let mounting = mounting.get(claim.name.as_str()).map_or(&[][..], Vec::as_slice);
                assessment.anew = if foreign.is_some() {
                    None
                } else if claim.terminating {
                    let mark = claim.recreated_for.as_ref();
                    mark.is_some_and(|mark| target.label.is(mark)).then_some(Anew::Begun)
                } else if target::recreates(&snapshot.set) {
                    anew(snapshot, template, claim, &target.label)
                } else {
                    None
                };
                let failed = snapshot
                    .refusals
                    .get(&claim.uid)
                    // If the claim may not be written now, the failure does not matter. Another controller does not
                    // know of it.
                    .filter(|failed| failed.label == target.label && kept.is_none());
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
            kept,
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
        self.kept.is_none() && self.claims.iter().any(|claim| claim.state == ClaimState::Pending)
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
        self.claims.iter().any(|claim| matches!(claim.anew, Some(Anew::Due(_))))
    }

    /// True iff the storage is working on a claim. Work of the node does not count, because it may wait for a Pod.
    #[must_use]
    pub fn is_in_motion(&self) -> bool {
        self.claims.iter().any(ClaimAssessment::is_in_motion)
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

impl<'a> ClaimAssessment<'a> {
    fn missing(name: ClaimName, template: Cow<'a, ClaimTemplate>, pod_at: At) -> Self {
        Self {
            name,
            template,
            claim: None,
            pod_at,
            at: At::Absent,
            state: ClaimState::Missing,
            anew: None,
            keeps_pod: false,
            reason: "NotFound".to_owned(),
            message: "waiting for the StatefulSet controller to create it".to_owned(),
            retry_at: None,
        }
    }

    fn judge(
        &mut self,
        claim: &Claim,
        at_target: bool,
        foreign: Option<&Foreign>,
        failed: Option<&Refusal>,
        now: Seconds,
    ) {
        let (at, state, reason, message) = if claim.terminating {
            (
                At::Absent,
                ClaimState::Terminating,
                "Deleted".to_owned(),
                "is being deleted".to_owned(),
            )
        } else if at_target && self.anew.is_none() && !failed.is_some_and(|failed| failed.is_of_reply(claim)) {
            let state = readiness::state_at_target(claim, &self.template);
            let (reason, message) = readiness::explain(state, claim, &self.template);
            (At::Updated, state, reason, message)
        } else if let Some(foreign) = foreign {
            (
                At::Outdated,
                ClaimState::Foreign,
                foreign.as_str().to_owned(),
                foreign.to_string(),
            )
        } else if let Some(anew) = &self.anew {
            let state = if matches!(anew, Anew::Otherwise(_)) {
                ClaimState::Refused
            } else {
                ClaimState::Pending
            };
            (At::Outdated, state, anew.reason().to_owned(), String::new())
        } else if let Some(change) = differences(&self.template, &claim.spec).next() {
            let (reason, message) = explain_difference(&change);
            (At::Outdated, ClaimState::Refused, reason, message)
        } else if !claim.bound {
            let state = readiness::state_unbound(claim);
            let (reason, message) = readiness::explain(state, claim, &self.template);
            (At::Outdated, state, reason, message)
        } else if let Some(failed) = failed {
            let changed = failed.resource_version != claim.resource_version && !failed.is_by_others();
            self.retry_at = Some(if changed { 0 } else { failed.retry_at(now) });
            (
                At::Outdated,
                ClaimState::Refused,
                failed.cause.clone(),
                failed.message.clone(),
            )
        } else {
            (
                At::Outdated,
                ClaimState::Pending,
                readiness::WAITING.to_owned(),
                "waiting for its turn".to_owned(),
            )
        };
        (self.at, self.state, self.reason, self.message) = (at, state, reason, message);
    }

    /// The reason and the message of a claim that `ReCreate` deletes.
    fn explain_anew(&mut self, claim: &Claim, mounting: &[&PodView]) {
        let Some(anew) = &self.anew else {
            return;
        };
        self.reason = anew.reason().to_owned();
        self.message = anew.explain(claim, mounting);
    }

    /// True iff the claim of a replica that was scaled away can be updated. Without a Pod, nothing else can be done for it.
    fn can_follow(&self) -> bool {
        match self.state {
            ClaimState::Foreign | ClaimState::Unbound | ClaimState::Terminating | ClaimState::Missing => false,
            ClaimState::Refused => !self.is_lost() && (self.at == At::Updated || self.retry_at.is_some()),
            _ => self.anew.is_none(),
        }
    }

    /// True iff the table requires an apply and the state of the claim permits it now.
    #[must_use]
    pub fn wants_apply(&self, now: Seconds) -> bool {
        let free = match self.state {
            ClaimState::Pending => self.anew.is_none(),
            ClaimState::Refused => self.retry_at.is_some_and(|retry_at| retry_at <= now),
            _ => false,
        };
        free && step(self.pod_at, self.at) == ClaimStep::Apply
    }

    /// True iff the next replica need not wait for this claim.
    ///
    /// A stuck claim stops the others with OrderedReady and not with Parallel (KEP-0661); with Parallel, neither does a
    /// claim without a volume. A claim that needs a Pod to make progress does not stop them while there is no Pod, or
    /// if all Pods are deleted before one is created: with OrderedReady the Pod may wait for a lower Pod whose full
    /// disk has to grow first.
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
            ClaimState::Refused if self.is_lost() => parallel || self.pod_at == At::Absent,
            ClaimState::Refused | ClaimState::Foreign => parallel,
            ClaimState::Pending | ClaimState::Applied | ClaimState::Expanding | ClaimState::Modifying => false,
        }
    }

    /// True iff the storage is working on the claim, also for an earlier staging. Work of the node does not count.
    #[must_use]
    pub fn is_in_motion(&self) -> bool {
        let is_left = matches!(self.state, ClaimState::Pending | ClaimState::Refused) && self.at == At::Outdated;
        let is_moving = self.state.is_in_motion() && self.state != ClaimState::NodeExpanding;
        is_moving || is_left && self.claim.is_some_and(moves)
    }

    /// True iff the volume of the claim does not exist any more.
    fn is_lost(&self) -> bool {
        self.claim.is_some_and(|claim| claim.lost)
    }

    /// True iff the claim was written, and needs a Pod to make progress.
    fn needs_pod(&self) -> bool {
        match self.state {
            ClaimState::NodeExpanding => true,
            ClaimState::Infeasible => self.claim.is_some_and(readiness::needs_pod),
            _ => false,
        }
    }

    /// The apply that updates the claim; `None` if there is no claim.
    ///
    /// The size is never smaller than the request of the claim (S1), unless it takes back a growth of ours that was
    /// never reached. Keys of the selector keep the values of the selector, as when the StatefulSet controller creates
    /// a claim. A template without an attributes class leaves the class of the volume as it is; a class of a previous
    /// staging that the volume never got is dropped, unless the API server denies that (Kubernetes 1.33).
    #[must_use]
    pub fn apply(&self, snapshot: &Snapshot, target: &Target<'_>) -> Option<ApplyClaim> {
        let claim = self.claim?;
        let refused = snapshot.refusals.get(&claim.uid);
        let must_stay = refused.is_some_and(|refused| refused.message.contains("volumeAttributesClassName"));
        let kept = if must_stay { &claim.class } else { &claim.current_class };
        let kept = kept.clone().filter(|class| claim.class_is_ours && !class.is_empty());
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
            label: target.label.clone(),
        })
    }
}

/// True iff a staging, whichever it was, left the claim in motion: the storage has yet to do what it asks for.
#[must_use]
pub fn moves(claim: &Claim) -> bool {
    let is_written = claim.bound && !claim.terminating && claim.labels.contains_key(keys::REVISION);
    let is_reached = claim.capacity.is_some_and(|capacity| capacity >= claim.request) && readiness::has_class(claim);
    is_written && !is_reached && !readiness::is_infeasible(claim) && !readiness::needs_pod(claim)
}

/// Why a claim cannot be written at all: reason and message.
fn explain_difference(change: &FrozenChange) -> (String, String) {
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), shown);
    let message = format!(
        "the template has {} {}, but the PVC has {}, which cannot change in place",
        change.field,
        value(&change.from),
        value(&change.to)
    );
    ("Differs".to_owned(), message)
}
