//! One claim: its revision and the one of its Pod, which are a row and a column of the table of KEP-4650.
//!
//! [`wants_apply`](ClaimAssessment::wants_apply), [`lets_pass`](ClaimAssessment::lets_pass), the gate and the order decide
//! what happens; `table_tests/claim_states.rs` is the table.

use super::action::ApplyClaim;
use super::recreate_need::ReCreateNeed;
use super::reduced_request::reduce_request;
use super::snapshot::{PodView, Refusal, Snapshot};
use crate::api::Seconds;
use crate::claims::compatible::differences;
use crate::claims::{Claim, Foreign};
use crate::gate::{ClaimState, PodManagement, SetView, Target, readiness};
use crate::templates::rules::Shrink;
use crate::templates::{ClaimName, ClaimTemplate, FrozenChange, RevisionLabel, Strategy, keys};
use std::borrow::Cow;

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

/// The reason of a claim that has a field of another value, which cannot change in place.
pub(super) const DIFFERS: &str = "Differs";

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
    pub recreate_need: Option<ReCreateNeed>,
    /// True iff the gate keeps the Pod because of this claim.
    pub keeps_pod: bool,
    /// The reason for the state.
    pub reason: String,
    /// The message for users.
    pub message: String,
    /// When a failed apply may be retried.
    pub retry_at: Option<Seconds>,
}

impl<'a> ClaimAssessment<'a> {
    /// The assessment of a claim by what it shows itself, for commands: without its Pod, earlier failures and `ReCreate`.
    /// The label is that of updated claims, if there is one.
    #[must_use]
    pub fn of_claim(
        name: ClaimName,
        template: Cow<'a, ClaimTemplate>,
        claim: Option<&'a Claim>,
        (label, foreign): (Option<&RevisionLabel>, Option<&Foreign>),
    ) -> Self {
        let mut assessment = Self {
            claim,
            ..Self::missing(name, template, At::Absent)
        };
        if let Some(claim) = claim {
            let at_target = label.is_some_and(|label| readiness::is_at(claim, &assessment.template, label));
            assessment.judge(claim, at_target, foreign, None, 0);
        }
        assessment
    }

    pub(super) fn missing(name: ClaimName, template: Cow<'a, ClaimTemplate>, pod_at: At) -> Self {
        Self {
            name,
            template,
            claim: None,
            pod_at,
            at: At::Absent,
            state: ClaimState::Missing,
            recreate_need: None,
            keeps_pod: false,
            reason: "NotFound".to_owned(),
            message: "waiting for the StatefulSet controller to create it".to_owned(),
            retry_at: None,
        }
    }

    pub(super) fn judge(
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
        } else if at_target && self.recreate_need.is_none() && !failed.is_some_and(|failed| failed.is_of_reply(claim)) {
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
        } else if let Some(need) = &self.recreate_need {
            let state = if matches!(need, ReCreateNeed::NotAllowed(_)) {
                ClaimState::Refused
            } else {
                ClaimState::Pending
            };
            (At::Outdated, state, need.reason().to_owned(), String::new())
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
    pub(super) fn explain_anew(&mut self, claim: &Claim, mounting: &[&PodView]) {
        let Some(need) = &self.recreate_need else {
            return;
        };
        self.reason = need.reason().to_owned();
        self.message = need.explain(claim, mounting);
    }

    /// True iff the claim of a replica that was scaled away can be updated. Without a Pod, nothing else can be done for it.
    pub(super) fn can_follow(&self) -> bool {
        match self.state {
            ClaimState::Foreign | ClaimState::Unbound | ClaimState::Terminating | ClaimState::Missing => false,
            ClaimState::Refused => !self.is_lost() && (self.at == At::Updated || self.retry_at.is_some()),
            _ => self.recreate_need.is_none(),
        }
    }

    /// True iff the claim is outdated, and can be written now.
    #[must_use]
    pub fn wants_apply(&self, now: Seconds) -> bool {
        match self.state {
            ClaimState::Pending => self.recreate_need.is_none(),
            ClaimState::Refused => self.retry_at.is_some_and(|retry_at| retry_at <= now),
            _ => false,
        }
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
    pub(super) fn needs_pod(&self) -> bool {
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
        let lowered = recovers.then(|| reduce_request(claim, wanted)).flatten();
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
    let [template, claim] = change.values();
    let message = format!(
        "the template has {} {template}, but the PVC has {claim}, which cannot change in place",
        change.field
    );
    (DIFFERS.to_owned(), message)
}
