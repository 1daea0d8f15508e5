//! The values to show of a set, from its objects. Pure.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use super::pods::PodStatusView;
use super::rollout::{Rollout, RolloutPhase};
use super::set::SeenSet;
use super::{pods, replacement};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::claims::Claim;
use crate::claims::compatible::in_place;
use crate::cli::row::{ClaimRow, RowTarget};
use crate::cli::withdraw::unreadable;
use crate::controller::crd::{PvcStatus, ReplacementStatus};
use crate::gate::ClaimState;
use crate::rollout::PodView;
use crate::templates::names::ordinal_of;
use crate::templates::rules::Frozen;
use crate::templates::{ClaimName, ClaimTemplate, Quantity, RevisionLabel, UpdatePolicy, keys};

/// A set and its claims.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusView {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The target of the rollout, if there is one.
    pub(crate) target: Option<TargetView>,
    /// A note for the user in one line.
    pub(crate) note: Option<String>,
    /// In the order of the rollout: the highest ordinal first.
    pub(crate) claims: Vec<ClaimView>,
    /// The Pods in the same order, while they wait for their claims or are being replaced.
    pub(crate) pods: Vec<PodStatusView>,
    /// True iff every replica is at the target revision.
    pub(crate) complete: bool,
    /// True iff the rollout of what is staged now does not continue by itself.
    pub(crate) stalled: bool,
    /// The revision that is staged now.
    pub(crate) staged: Option<String>,
    /// The replacement of the set, if it is of what is staged now.
    pub(crate) replacement: Option<ReplacementStatus>,
    /// True iff a replacement of the set is asked for, or has begun, and has not ended.
    pub(crate) awaits_replacement: bool,
    /// Why what is staged cannot be read, and what to do.
    #[serde(skip)]
    pub(super) unreadable: Option<String>,
}

/// The target and the progress of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetView {
    pub(crate) revision: String,
    pub(crate) policy: String,
    pub(crate) sync: String,
    /// False iff nothing is staged: it was withdrawn, or it is live since the set was replaced.
    pub(crate) staged: bool,
    pub(crate) state: RolloutPhase,
    /// The reason of the condition `Ready`; empty before the controller reports.
    pub(crate) reason: String,
    pub(crate) replicas: u32,
    pub(crate) updated: u32,
    pub(crate) ready: u32,
}

/// A claim, its sizes, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimView {
    #[serde(flatten)]
    pub(crate) row: ClaimRow,
    pub(crate) request: String,
    /// The size that the rollout leads to; the request where it changes nothing.
    pub(crate) desired: String,
    pub(crate) capacity: String,
    /// The capacity in percent of the desired size.
    pub(crate) percent: u8,
    pub(crate) attributes_class: Option<String>,
    pub(crate) revision: Option<String>,
}

impl ClaimView {
    /// The state as text; empty without a rollout.
    pub(super) fn state(&self) -> &'static str {
        self.row.state.map_or("", ClaimState::as_str)
    }
}

/// A rollout, and what it leads to.
struct Reported<'a> {
    rollout: &'a Rollout,
    /// The desired templates, by their names.
    templates: BTreeMap<String, ClaimTemplate>,
    /// It updates existing claims.
    updates: bool,
}

impl StatusView {
    /// True iff nothing more happens without the user.
    pub(super) const fn is_done(&self) -> bool {
        self.complete && !self.awaits_replacement && self.unreadable.is_none()
    }

    /// True iff this revision is staged, or is live because the set was replaced.
    pub(super) fn has(&self, revision: &str) -> bool {
        match &self.staged {
            Some(staged) => staged == revision,
            None => self.complete && self.target.as_ref().is_some_and(|target| target.revision == revision),
        }
    }
}

/// The view of the set `name`. At least one of `set` and `rollout` is given.
pub(crate) fn view(
    namespace: &str,
    name: &str,
    set: Option<&SeenSet>,
    rollout: Option<&Rollout>,
    claims: &[Claim],
    all_pods: &[PodView],
) -> StatusView {
    let is_staged = rollout.is_some_and(|rollout| is_staged(rollout, set));
    let reported = rollout.map(|rollout| Reported {
        templates: rollout.templates(),
        updates: is_staged && rollout.spec.update_policy != UpdatePolicy::OnClaimDelete.as_str(),
        rollout,
    });
    let templates = template_names(set, reported.as_ref());
    let place = |claim: &str| {
        let mut places = templates.iter();
        places.find_map(|template| Some((&**template, ordinal_of(claim, template, name)?)))
    };
    let mut rows: Vec<ClaimView> = claims
        .iter()
        .filter_map(|claim| Some(claim_view(claim, name, place(&claim.name)?, reported.as_ref())))
        .collect();
    let absent = |status: &&PvcStatus| !rows.iter().any(|row| row.row.name == status.name);
    let listed = rollout.map_or(&[][..], |rollout| &rollout.status.claims);
    let missing = listed.iter().filter(absent);
    let missing = missing.map(|status| missing_claim(status, place(&status.name).map_or("", |(template, _)| template)));
    let missing: Vec<ClaimView> = missing.collect();
    rows.extend(missing);
    rows.sort_by(|a, b| {
        b.row
            .ordinal
            .cmp(&a.row.ordinal)
            .then_with(|| a.row.name.cmp(&b.row.name))
    });
    let staged = set.and_then(|set| Some(set.view.staged.as_ref()?.label()));
    let current = rollout.is_some_and(|rollout| staged.as_ref().is_none_or(|staged| rollout.is_of_staged(staged)));
    let state = rollout.filter(|_| current).map(Rollout::state);
    let replacement = replacement::shown(rollout.and_then(|rollout| rollout.status.replacement.as_ref()), set);
    StatusView {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        target: rollout.map(|rollout| target(rollout, set, is_staged)),
        note: note((namespace, name), set, rollout, staged.as_ref()),
        claims: rows,
        pods: set.map_or_else(Vec::new, |set| pods::pods(&set.view, all_pods)),
        awaits_replacement: replacement::is_awaited(replacement.as_ref(), set),
        replacement,
        complete: state == Some(RolloutPhase::Complete),
        stalled: state == Some(RolloutPhase::Stalled) && rollout.is_some_and(Rollout::is_seen),
        staged: staged.map(|staged| staged.revision.to_string()),
        unreadable: unreadable_in(set),
    }
}

/// Why what is staged cannot be read, and what to do.
fn unreadable_in(set: Option<&SeenSet>) -> Option<String> {
    let why = set?.view.unreadable.as_ref()?;
    Some(format!("what is staged {}", unreadable(why)))
}

/// True iff a change is staged, as the StatefulSet shows; without it, as the controller reported.
fn is_staged(rollout: &Rollout, set: Option<&SeenSet>) -> bool {
    set.map_or(rollout.spec.staging.is_some(), SeenSet::is_staged)
}

fn target(rollout: &Rollout, set: Option<&SeenSet>, is_staged: bool) -> TargetView {
    // Before the controller reports, the StatefulSet has the number of replicas.
    let asked = set.map_or(0, |set| set.view.replicas);
    let number = |count: Option<i64>| u32::try_from(count.unwrap_or_default()).unwrap_or_default();
    let replicas = if rollout.is_reported {
        rollout.status.replicas
    } else {
        Some(asked.into())
    };
    let ready = rollout.status.condition("Ready");
    TargetView {
        revision: rollout.spec.revision.clone(),
        policy: rollout.spec.update_policy.clone(),
        sync: rollout.spec.sync.clone(),
        staged: is_staged,
        state: rollout.state(),
        reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
        replicas: number(replicas),
        updated: number(rollout.status.updated_replicas),
        ready: number(rollout.status.ready_replicas),
    }
}

/// The names of the live and of the desired templates.
fn template_names(set: Option<&SeenSet>, reported: Option<&Reported<'_>>) -> Vec<String> {
    let live = set.into_iter().flat_map(|set| &set.view.live);
    let live = live.map(|template| template.name.clone());
    let desired = reported
        .into_iter()
        .flat_map(|reported| reported.templates.keys().cloned());
    live.chain(desired).collect()
}

fn claim_view(
    claim: &Claim,
    set_name: &str,
    (template, ordinal): (&str, u32),
    reported: Option<&Reported<'_>>,
) -> ClaimView {
    let asked = reported.and_then(|reported| reported.templates.get(template)?.storage);
    // A PVC never gets smaller.
    let leads = asked.filter(|asked| *asked > claim.request);
    let updates = reported.is_some_and(|reported| reported.updates);
    ClaimView {
        row: row(claim, set_name, (template, ordinal), reported),
        percent: percent(claim.capacity, leads.unwrap_or(claim.request)),
        request: claim.request.to_string(),
        desired: leads.filter(|_| updates).unwrap_or(claim.request).to_string(),
        capacity: claim
            .capacity
            .map_or_else(|| "-".to_owned(), |capacity| capacity.to_string()),
        attributes_class: claim.class.clone(),
        revision: label(claim).map(|label| label.revision.to_string()),
    }
}

/// What was applied to a claim.
fn label(claim: &Claim) -> Option<RevisionLabel> {
    RevisionLabel::read(claim.labels.get(keys::REVISION)?)
}

/// The state of a claim as the controller reports it, or else as the claim itself shows it.
fn row(claim: &Claim, set_name: &str, (template, ordinal): (&str, u32), reported: Option<&Reported<'_>>) -> ClaimRow {
    let blank = || ClaimRow::blank(template, &claim.name, ordinal);
    let Some(Reported {
        rollout,
        templates,
        updates,
    }) = reported
    else {
        return blank();
    };
    let label = label(claim).filter(|label| rollout.is_at(label));
    let mut listed = rollout.status.claims.iter();
    // A PVC with the label was updated after the report of its turn.
    let is_older = |status: &PvcStatus| label.is_some() && status.state == ClaimState::Pending.as_str();
    if let Some(status) = listed.find(|status| status.name == claim.name && !is_older(status)) {
        return ClaimRow::reported(status, template);
    }
    let name = ClaimName::new(template, set_name, ordinal).ok();
    let Some((name, asked)) = name.zip(templates.get(template)) else {
        return blank();
    };
    // Without the settings, a field that cannot change is left to the report.
    let asked = in_place(asked, claim, Frozen::ForNewClaims);
    let target = RowTarget {
        label: label.as_ref(),
        updates: *updates,
    };
    ClaimRow::of((name, ordinal), &asked, Some(claim), (target, None))
}

fn missing_claim(status: &PvcStatus, template: &str) -> ClaimView {
    ClaimView {
        row: ClaimRow::reported(status, template),
        request: "-".to_owned(),
        desired: "-".to_owned(),
        capacity: "-".to_owned(),
        percent: 0,
        attributes_class: None,
        revision: None,
    }
}

/// `part` of `whole`, rounded down, at most 100.
fn percent(part: Option<Quantity>, whole: Quantity) -> u8 {
    let Some(part) = part else {
        return 0;
    };
    let percent = part
        .whole()
        .saturating_mul(100)
        .checked_div(whole.whole())
        .unwrap_or(100);
    u8::try_from(percent.clamp(0, 100)).unwrap_or(100)
}

/// The message of a condition, with its reason where somebody has to act: the documentation lists these reasons.
fn in_words(condition: &Condition) -> String {
    let Condition { reason, message, .. } = condition;
    let is_listed = |reason: ReadyReason| matches!(reason.kind(), Kind::Waiting | Kind::Stalled);
    if ReadyReason::read(reason).is_some_and(is_listed) {
        format!("{reason}: {message}")
    } else {
        message.clone()
    }
}

/// The note for the user.
fn note(
    (namespace, name): (&str, &str),
    set: Option<&SeenSet>,
    rollout: Option<&Rollout>,
    staged: Option<&RevisionLabel>,
) -> Option<String> {
    let Some(rollout) = rollout else {
        let nothing = || "nothing staged: change spec.volumeClaimTemplates and apply it as usual".to_owned();
        return Some(match staged {
            Some(staged) => format!("{} is staged; the controller has not started", staged.revision),
            None => unreadable_in(set).unwrap_or_else(nothing),
        });
    };
    let Some(set) = set else {
        let replacing = rollout.status.replacement.as_ref();
        if replacing.is_some_and(replacement::is_in_progress) {
            return Some("the StatefulSet does not exist at this moment; its Pods do".to_owned());
        }
        return Some("the StatefulSet was deleted".to_owned());
    };
    if let Some(newer) = staged.filter(|staged| !rollout.is_of_staged(staged)) {
        return Some(format!("{} is staged and will be next", newer.revision));
    }
    if set.view.paused {
        return Some("paused: nothing new is started".to_owned());
    }
    let ruling = ["Stalled", "Reconciling"]
        .into_iter()
        .find_map(|kind| rollout.condition(kind));
    let message = ruling.map(in_words).filter(|message| !message.is_empty());
    if !is_staged(rollout, Some(set)) {
        let ready = rollout.condition("Ready");
        let withdrawn = ready.filter(|ready| ready.reason == ReadyReason::Withdrawn.as_str());
        return message.or_else(|| withdrawn.map(|ready| ready.message.clone()));
    }
    if rollout.spec.update_policy == UpdatePolicy::OnClaimDelete.as_str() {
        return message.or_else(|| {
            Some(format!(
                "only new PVCs; for all: kubectl annotate -n {namespace} sts {name} {}=InPlace --overwrite",
                keys::UPDATE_POLICY
            ))
        });
    }
    message
}

#[cfg(test)]
#[path = "view_tests.rs"]
pub(super) mod tests;
