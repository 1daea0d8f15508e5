//! The status of the ClaimRollout, as a value.

use std::collections::BTreeMap;

use super::advance::Advance;
use super::assessment::{At, ClaimAssessment, DIFFERS};
use super::bounds::Bounds;
use super::conditions::{Condition, RolloutState};
use super::milestones::Milestones;
use super::overview::Overview;
use super::recreate_need::CREATED_OTHERWISE;
use super::replica::Replica;
use super::restraint::Restraint;
use super::snapshot::{Previous, Snapshot, Trouble};
use super::{idle_report, listing, replica, restart};
use crate::api::reasons::Kind;
use crate::api::{ReadyReason, Seconds};
use crate::gate::readiness::WITHOUT_VOLUME;
use crate::gate::{ClaimState, Idle, SetView, Target, readiness, target};
use crate::templates::{ClaimTemplate, Quantity, Revision, RevisionLabel, Staging, TemplateChange, UpdatePolicy, keys};

/// The progress of one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The desired templates.
    pub templates: Vec<ClaimTemplate>,
    /// The target revision.
    pub update_revision: Revision,
    /// Which staging of the target revision it is, if it is staged.
    pub staging: Option<Staging>,
    /// The revision of the outdated claims; the target revision if there are none.
    pub current_revision: Revision,
    /// When the target was first seen.
    pub started: Seconds,
    /// When the rollout last reached something new, if something is rolled out.
    pub moved: Option<Seconds>,
    /// What the rollout has reached.
    pub milestones: Milestones,
    /// The update policy of the set.
    pub update_policy: UpdatePolicy,
    /// The counters; `None` if the claims need not be read.
    pub counts: Option<Counts>,
    /// The counters of each template, in the order of the desired templates.
    pub by_template: Vec<TemplateProgress>,
    /// Claims that are not done, highest ordinal first, at most 50. Claims that are stuck are preferred to claims that
    /// wait.
    pub claims: Vec<ClaimProgress>,
    /// Claims that are stuck and do not fit into that list.
    pub unlisted: Vec<ClaimProgress>,
    /// The condition `Ready`: everything is updated and ready.
    pub ready: Condition,
    /// The condition `Reconciling`: the rollout makes progress or waits.
    pub reconciling: Condition,
    /// The condition `Stalled`: somebody must act.
    pub stalled: Condition,
}

/// The counters of KEP-4650: replicas, by the state of their claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Replicas of the set.
    pub replicas: usize,
    /// Replicas without an updated claim.
    pub current: usize,
    /// Replicas of which every claim is updated.
    pub updated: usize,
    /// Replicas of which every claim is updated and ready.
    pub ready: usize,
}

/// The counters of KEP-0661 and OpenKruise: claims of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProgress {
    /// The name of the template.
    pub template: String,
    /// Updated claims. If the template did not change, compatible claims count as well.
    pub updated: usize,
    /// Those of the updated claims that are ready.
    pub ready: usize,
    /// Claims that request at least the size of the template.
    pub compatible: usize,
    /// Those of the compatible claims that have at least the size of the template.
    pub compatible_ready: usize,
    /// The generation of the set, once every claim is updated and ready.
    pub finished: Option<i64>,
}

/// One claim that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimProgress {
    /// The name of the claim.
    pub name: String,
    /// The uid of the claim, if it exists.
    pub uid: Option<String>,
    /// The ordinal of the replica.
    pub ordinal: u32,
    /// The state of the claim.
    pub state: ClaimState,
    /// The reason for the state.
    pub reason: String,
    /// The message for users.
    pub message: String,
}

impl ClaimProgress {
    /// True iff the claim is in motion and none of its conditions has a cause.
    #[must_use]
    pub fn is_unexplained(&self) -> bool {
        self.state.is_in_motion() && !Trouble::reports(&self.reason)
    }

    /// Adds the last Event about the claim to its message.
    fn explained(mut self, events: &BTreeMap<String, String>) -> Self {
        let event = self.uid.as_ref().and_then(|uid| events.get(uid));
        if let Some(event) = event.filter(|event| !event.is_empty() && self.is_unexplained()) {
            self.message = format!("{}; {event}", self.message);
        }
        self
    }
}

/// The progress of a set for which nothing is rolled out.
#[must_use]
pub fn idle(snapshot: &Snapshot, idle: &Idle) -> Progress {
    let set = &snapshot.set;
    let templates = set.wanted().to_vec();
    let revision = Revision::of(&templates);
    let counted = Target::staged(set, &snapshot.settings).ok();
    let counted = counted.filter(|_| *idle == Idle::OnClaimDelete && idle_report::is_reported(idle, set));
    let replicas = counted.as_ref().map(|target| idle_report::replicas(snapshot, target));
    let by_template = by_templates(set, &templates, replicas.as_deref().unwrap_or_default());
    let mut state = RolloutState::idle(idle);
    if let Some(lag) = replicas.as_ref().and_then(|replicas| lagging(replicas, &by_template)) {
        state.message = format!("{}; {lag}", state.message);
    }
    if *idle == Idle::Withdrawn
        && let Some(asking) = idle_report::asking(snapshot)
    {
        state.message = format!("{}; {asking}", state.message);
    }
    let [ready, reconciling, stalled] = state.conditions();
    let current = counted.as_ref().zip(replicas.as_ref());
    Progress {
        current_revision: match current {
            Some((target, replicas)) => current_revision(snapshot, target, replicas),
            None if idle.is_stalled() => Revision::of(&set.live),
            None => revision.clone(),
        },
        templates,
        started: snapshot.first_seen(&revision),
        moved: None,
        milestones: Milestones::default(),
        update_revision: revision,
        staging: set.staged.as_ref().map(|change| change.staging.clone()),
        update_policy: target::policy_in_force(set, &snapshot.settings),
        counts: replicas.as_deref().map(counts),
        by_template: if replicas.is_some() { by_template } else { Vec::new() },
        claims: Vec::new(),
        unlisted: Vec::new(),
        ready,
        reconciling,
        stalled,
    }
}

/// How many claims are outdated, if any.
fn lagging(replicas: &[Replica<'_>], by_template: &[TemplateProgress]) -> Option<String> {
    let claims = replicas.iter().flat_map(|replica| &replica.claims);
    let all = claims.filter(|claim| claim.claim.is_some()).count();
    let updated: usize = by_template.iter().map(|template| template.updated).sum();
    let outdated = all.saturating_sub(updated);
    (outdated > 0).then(|| format!("{outdated} of {all} PVCs are outdated"))
}

/// The progress of a rollout.
#[must_use]
pub fn assemble(overview: &Overview<'_>, advance: Advance) -> Progress {
    let Overview {
        snapshot,
        target,
        replicas,
        bounds,
        ..
    } = *overview;
    let claims = replicas
        .iter()
        .flat_map(|replica| replica.claims.iter().map(move |claim| (replica, claim)));
    let not_done = claims.filter(|(_, claim)| claim.state != ClaimState::Done);
    let (listed, unlisted) = listing::split(not_done, |(_, claim)| claim.state.is_stalled());
    let of_claims = |claims: Vec<(&Replica<'_>, &ClaimAssessment<'_>)>| -> Vec<ClaimProgress> {
        let claims = claims.into_iter();
        claims
            .map(|of| claim_progress(snapshot, of, &target.label.revision, bounds))
            .collect()
    };
    let explained = |claim: ClaimProgress| claim.explained(&snapshot.claim_events);
    let state = RolloutState::of(overview);
    let waited = snapshot.previous.as_ref().is_some_and(Previous::waited);
    let continues = waited && state.reason.kind() != Kind::Waiting;
    let moved = if continues { snapshot.now } else { advance.moved };
    let [ready, reconciling, stalled] = state.conditions();
    Progress {
        templates: target.change.templates.clone(),
        current_revision: current_revision(snapshot, target, replica::in_range(replicas)),
        update_revision: target.label.revision.clone(),
        staging: Some(target.label.staging.clone()),
        started: snapshot.first_seen(&target.label.revision),
        moved: Some(moved),
        milestones: advance.milestones,
        update_policy: target::update_policy(&snapshot.set),
        counts: Some(counts(replica::in_range(replicas))),
        by_template: by_templates(&snapshot.set, &target.change.templates, replica::in_range(replicas)),
        claims: of_claims(listed).into_iter().map(explained).collect(),
        unlisted: of_claims(unlisted),
        ready,
        reconciling,
        stalled,
    }
}

/// A controller that was restarted does not know of a denial: until it has an answer, the claim is as in the report.
fn claim_progress(
    snapshot: &Snapshot,
    (replica, claim): (&Replica<'_>, &ClaimAssessment<'_>),
    revision: &Revision,
    bounds: &Bounds,
) -> ClaimProgress {
    let (set, name) = (&snapshot.set, claim.name.as_str());
    let is_due = claim.state == ClaimState::Pending && claim.recreate_need.is_none() && replica.restraint.is_none();
    let report = snapshot.reported(revision).filter(|_| is_due);
    let denied = report.and_then(|report| denial(report, name));
    let budget = bounds.spending.waits(name);
    let budget = budget.map(|waits| (ReadyReason::WaitsForBudget.as_str().to_owned(), waits.message.clone()));
    let (reason, mut message) = match replica.restraint.filter(|_| claim.state == ClaimState::Pending) {
        Some(Restraint::Paused) => ("Paused".to_owned(), "the rollout is paused".to_owned()),
        Some(Restraint::OnDelete) => {
            let message = format!("waiting for Pod {}-{} to be deleted", set.name, replica.ordinal);
            ("OnDelete".to_owned(), message)
        }
        Some(Restraint::Partition) => ("Partition".to_owned(), format!("below the partition {}", set.partition)),
        None => {
            let known = budget.or_else(|| denied.clone());
            known.unwrap_or_else(|| (claim.reason.clone(), claim.message.clone()))
        }
    };
    if let Some((why, _)) = snapshot.not_evicted.as_ref()
        && restart::waits(set, claim)
    {
        message = format!("{message}; failed to evict its Pod: {why}");
    }
    ClaimProgress {
        name: name.to_owned(),
        uid: claim.claim.map(|claim| claim.uid.clone()),
        ordinal: replica.ordinal,
        state: if denied.is_some() {
            ClaimState::Refused
        } else {
            claim.state
        },
        reason,
        message,
    }
}

/// The cause and the message of a denial that was reported. What a claim shows itself, and a budget, are judged anew.
fn denial(report: &Previous, claim: &str) -> Option<(String, String)> {
    let (state, cause, message) = report.claims.get(claim)?;
    let waits = ReadyReason::WaitsForBudget.as_str();
    let is_shown = [DIFFERS, CREATED_OTHERWISE, WITHOUT_VOLUME, waits].contains(&&**cause);
    let is_denial = state == ClaimState::Refused.as_str() && !is_shown;
    is_denial.then(|| (cause.clone(), message.clone()))
}

fn counts(replicas: &[Replica<'_>]) -> Counts {
    let count = |holds: fn(&Replica<'_>) -> bool| replicas.iter().filter(|replica| holds(replica)).count();
    Counts {
        replicas: replicas.len(),
        current: count(|replica| {
            !replica.claims.is_empty() && replica.claims.iter().all(|claim| claim.at != At::Updated)
        }),
        updated: count(|replica| replica.claims.iter().all(|claim| claim.at == At::Updated)),
        ready: count(|replica| replica.is_done()),
    }
}

fn by_templates(set: &SetView, templates: &[ClaimTemplate], replicas: &[Replica<'_>]) -> Vec<TemplateProgress> {
    let progress = templates.iter().map(|template| by_template(set, template, replicas));
    progress.collect()
}

fn by_template(set: &SetView, template: &ClaimTemplate, replicas: &[Replica<'_>]) -> TemplateProgress {
    let claims: Vec<&ClaimAssessment<'_>> = replicas
        .iter()
        .flat_map(|replica| &replica.claims)
        .filter(|claim| claim.template.name == template.name)
        .collect();
    let count = |holds: &dyn Fn(&ClaimAssessment<'_>) -> bool| claims.iter().filter(|claim| holds(claim)).count();
    let compatible =
        |claim: &ClaimAssessment<'_>| claim.claim.is_some_and(|view| readiness::is_compatible(view, template));
    let reached = |capacity: Quantity| template.storage.is_none_or(|wanted| capacity >= wanted);
    // If the template did not change, only the label changes on its claims.
    let mut live = set.live.iter().filter(|live| live.name == template.name);
    let is_unchanged = live.any(|live| TemplateChange::between(live, template).is_empty());
    let is_updated = |claim: &ClaimAssessment<'_>| claim.at == At::Updated || is_unchanged && compatible(claim);
    let is_ready = |claim: &ClaimAssessment<'_>| {
        claim
            .claim
            .is_some_and(|view| readiness::is_ready(view, &claim.template))
    };
    let ready = count(&|claim| is_updated(claim) && is_ready(claim));
    TemplateProgress {
        template: template.name.clone(),
        updated: count(&is_updated),
        ready,
        compatible: count(&compatible),
        compatible_ready: count(&|claim| {
            compatible(claim) && claim.claim.and_then(|view| view.capacity).is_some_and(reached)
        }),
        finished: (ready == claims.len()).then_some(set.generation),
    }
}

/// The revision of the outdated claim with the lowest ordinal: its label, else the revision of the live templates.
fn current_revision(snapshot: &Snapshot, target: &Target<'_>, replicas: &[Replica<'_>]) -> Revision {
    let behind = replicas
        .iter()
        .rev()
        .flat_map(|replica| &replica.claims)
        .find(|claim| claim.at == At::Outdated);
    match behind.and_then(|claim| claim.claim) {
        Some(view) => view
            .labels
            .get(keys::REVISION)
            .and_then(|label| RevisionLabel::read(label))
            // Of a previous staging of the same templates, before which the live ones were desired.
            .filter(|label| label.revision != target.label.revision)
            .map_or_else(|| Revision::of(&snapshot.set.live), |label| label.revision),
        None => target.label.revision.clone(),
    }
}
