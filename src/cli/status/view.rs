//! The values to show of a set, from its objects. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use serde::Serialize;

use super::pods::{self, PodStatusView};
use super::replacement::{self, ReplacementView};
use super::rollout::{ReportedClaim, Rollout, RolloutCondition, RolloutPhase};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::templates::names::ordinal_of;
use crate::templates::{Quantity, RevisionLabel, StagedChange, keys};

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
    pub(crate) replacement: Option<ReplacementView>,
    /// True iff a replacement of the set is asked for, or has begun, and has not ended.
    pub(crate) awaits_replacement: bool,
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
    pub(crate) replicas: u32,
    pub(crate) updated: u32,
    pub(crate) ready: u32,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimView {
    pub(crate) name: String,
    pub(crate) ordinal: u32,
    pub(crate) request: String,
    /// The size that the rollout leads to; the request where it changes nothing.
    pub(crate) desired: String,
    pub(crate) capacity: String,
    /// The capacity in percent of the desired size.
    pub(crate) percent: u8,
    /// One of the states of section "Claim states" of the documentation; empty without a rollout.
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) attributes_class: Option<String>,
    pub(crate) revision: Option<String>,
}

impl StatusView {
    /// True iff nothing more happens without the user.
    pub(super) const fn is_done(&self) -> bool {
        self.complete && !self.awaits_replacement
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
    set: Option<&StatefulSet>,
    rollout: Option<&Rollout>,
    claims: &[PersistentVolumeClaim],
    all_pods: &[Pod],
) -> StatusView {
    let is_staged = rollout.is_some_and(|rollout| is_staged(rollout, set));
    let mut rows: Vec<ClaimView> = claims
        .iter()
        .filter_map(|claim| {
            let (template, ordinal) = place(claim, name, set, rollout)?;
            Some(claim_view(claim, &template, ordinal, (rollout, is_staged)))
        })
        .collect();
    let absent = |status: &&ReportedClaim| !rows.iter().any(|row| row.name == status.name);
    let listed = rollout.map_or(&[][..], |rollout| &rollout.status.claims);
    let missing: Vec<ClaimView> = listed.iter().filter(absent).map(missing_claim).collect();
    rows.extend(missing);
    rows.sort_by(|a, b| b.ordinal.cmp(&a.ordinal).then_with(|| a.name.cmp(&b.name)));
    let staged = set.and_then(staged_label);
    let current = rollout.is_some_and(|rollout| staged.as_ref().is_none_or(|staged| rollout.is_of_staged(staged)));
    let state = rollout.filter(|_| current).map(Rollout::state);
    let replacement = replacement::shown(rollout.and_then(|rollout| rollout.status.replacement.as_ref()), set);
    StatusView {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        target: rollout.map(|rollout| target(rollout, set, is_staged)),
        note: note(name, set, rollout, staged.as_ref()),
        claims: rows,
        pods: set.map_or_else(Vec::new, |set| pods::pods(set, all_pods)),
        awaits_replacement: replacement::is_awaited(replacement.as_ref(), set),
        replacement,
        complete: state == Some(RolloutPhase::Complete),
        stalled: state == Some(RolloutPhase::Stalled) && rollout.is_some_and(Rollout::is_seen),
        staged: staged.map(|staged| staged.revision.to_string()),
    }
}

/// True iff a change is staged, as the StatefulSet shows; without it, as the controller reported.
fn is_staged(rollout: &Rollout, set: Option<&StatefulSet>) -> bool {
    set.map_or(rollout.spec.staging.is_some(), |set| {
        annotation(set, keys::STAGED).is_some()
    })
}

fn target(rollout: &Rollout, set: Option<&StatefulSet>, is_staged: bool) -> TargetView {
    // Before the controller reports, the StatefulSet has the number of replicas.
    let asked = set.and_then(|set| set.spec.as_ref()?.replicas).unwrap_or_default();
    let replicas = if rollout.is_reported {
        rollout.status.replicas
    } else {
        u32::try_from(asked).unwrap_or_default()
    };
    TargetView {
        revision: rollout.spec.revision.clone(),
        policy: rollout.spec.update_policy.clone(),
        sync: rollout.spec.sync.clone(),
        staged: is_staged,
        state: rollout.state(),
        replicas,
        updated: rollout.status.updated_replicas,
        ready: rollout.status.ready_replicas,
    }
}

/// The template and the ordinal of a claim, if it is one of this set.
fn place(
    claim: &PersistentVolumeClaim,
    set_name: &str,
    set: Option<&StatefulSet>,
    rollout: Option<&Rollout>,
) -> Option<(String, u32)> {
    let claim_name = claim.metadata.name.as_deref()?;
    let live = set.and_then(|set| set.spec.as_ref()?.volume_claim_templates.as_ref());
    let live = live
        .into_iter()
        .flatten()
        .filter_map(|template| template.metadata.name.as_deref());
    let desired = rollout.map_or(&[][..], |rollout| &rollout.spec.templates);
    let desired = desired
        .iter()
        .filter_map(|template| template["metadata"]["name"].as_str());
    live.chain(desired)
        .find_map(|template| Some((template.to_owned(), ordinal_of(claim_name, template, set_name)?)))
}

fn claim_view(
    claim: &PersistentVolumeClaim,
    template: &str,
    ordinal: u32,
    (rollout, is_staged): (Option<&Rollout>, bool),
) -> ClaimView {
    let name = claim.metadata.name.clone().unwrap_or_default();
    let spec = claim.spec.as_ref();
    let requests = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    let request = storage(requests);
    let capacity = storage(claim.status.as_ref().and_then(|status| status.capacity.as_ref()));
    let labels = claim.metadata.labels.as_ref();
    let label = labels.and_then(|labels| RevisionLabel::read(labels.get(keys::REVISION)?));
    let target = rollout.and_then(|rollout| rollout.sizes().remove(template));
    let own: Option<Quantity> = request.parse().ok();
    // A PVC never gets smaller.
    let leads = target.as_ref() > own.as_ref();
    let desired = if leads { target } else { own };
    let percent = percent(capacity.parse().ok().as_ref(), desired.as_ref());
    let follows = is_staged && rollout.is_some_and(|rollout| rollout.spec.update_policy != "OnClaimDelete");
    let size = desired.filter(|_| leads && follows).map(|size| size.to_string());
    let (state, reason) = rollout.map_or((String::new(), String::new()), |rollout| {
        match state(claim, &name, label.as_ref(), (rollout, follows)) {
            // The label states what was written, not what the driver has done.
            (state, _) if state == "Done" && percent < 100 => {
                ("Applied".to_owned(), format!("capacity {capacity} of {request}"))
            }
            other => other,
        }
    });
    ClaimView {
        percent,
        desired: size.unwrap_or_else(|| request.clone()),
        attributes_class: spec.and_then(|spec| spec.volume_attributes_class_name.clone()),
        name,
        ordinal,
        request,
        capacity,
        state,
        reason,
        revision: label.map(|label| label.revision.to_string()),
    }
}

/// The state of a claim as the controller reports it, or else as the claim itself shows it.
fn state(
    claim: &PersistentVolumeClaim,
    name: &str,
    label: Option<&RevisionLabel>,
    (rollout, follows): (&Rollout, bool),
) -> (String, String) {
    let is_at = label.is_some_and(|label| rollout.is_at(label));
    let reported = rollout.status.claims.iter().find(|status| status.name == name);
    // A PVC with the label was updated after the report of its turn.
    if let Some(status) = reported.filter(|status| !is_at || status.state != "Pending") {
        return (status.state.clone(), reason(status));
    }
    let state = if claim.metadata.deletion_timestamp.is_some() {
        "Terminating"
    } else if is_at {
        "Done"
    } else if follows {
        "Pending"
    } else {
        ""
    };
    (state.to_owned(), String::new())
}

fn reason(status: &ReportedClaim) -> String {
    if status.message.is_empty() {
        status.reason.clone()
    } else {
        status.message.clone()
    }
}

fn missing_claim(status: &ReportedClaim) -> ClaimView {
    ClaimView {
        name: status.name.clone(),
        ordinal: status.ordinal,
        request: "-".to_owned(),
        desired: "-".to_owned(),
        capacity: "-".to_owned(),
        percent: 0,
        state: status.state.clone(),
        reason: reason(status),
        attributes_class: None,
        revision: None,
    }
}

fn storage(amounts: Option<&BTreeMap<String, ApiQuantity>>) -> String {
    amounts
        .and_then(|amounts| amounts.get("storage"))
        .map_or_else(|| "-".to_owned(), |quantity| quantity.0.clone())
}

/// `part` of `whole`, rounded down, at most 100.
fn percent(part: Option<&Quantity>, whole: Option<&Quantity>) -> u8 {
    let (Some(part), Some(whole)) = (part, whole) else {
        return 0;
    };
    let percent = part
        .whole()
        .saturating_mul(100)
        .checked_div(whole.whole())
        .unwrap_or(100);
    u8::try_from(percent.clamp(0, 100)).unwrap_or(100)
}

fn annotation<'a>(set: &'a StatefulSet, key: &str) -> Option<&'a str> {
    set.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn staged_label(set: &StatefulSet) -> Option<RevisionLabel> {
    let change = StagedChange::read(annotation(set, keys::STAGED)?, set.metadata.uid.as_deref()?).ok()?;
    Some(change.label())
}

/// The message of a condition, with its reason where somebody has to act: the documentation lists these reasons.
fn in_words(condition: &RolloutCondition) -> String {
    let RolloutCondition { reason, message, .. } = condition;
    let is_listed = |reason: ReadyReason| matches!(reason.kind(), Kind::Waiting | Kind::Stalled);
    if ReadyReason::read(reason).is_some_and(is_listed) {
        format!("{reason}: {message}")
    } else {
        message.clone()
    }
}

/// The note for the user.
fn note(
    name: &str,
    set: Option<&StatefulSet>,
    rollout: Option<&Rollout>,
    staged: Option<&RevisionLabel>,
) -> Option<String> {
    let Some(rollout) = rollout else {
        return Some(staged.map_or_else(
            || "nothing staged: change spec.volumeClaimTemplates and apply it as usual".to_owned(),
            |staged| format!("{} is staged; the controller has not started", staged.revision),
        ));
    };
    let Some(set) = set else {
        let replacing = rollout.status.replacement.as_ref();
        if replacing.is_some_and(ReplacementView::is_in_progress) {
            return Some("the StatefulSet does not exist at this moment; its Pods do".to_owned());
        }
        return Some("the StatefulSet was deleted".to_owned());
    };
    if let Some(newer) = staged.filter(|staged| !rollout.is_of_staged(staged)) {
        return Some(format!("{} is staged and will be next", newer.revision));
    }
    if annotation(set, keys::PAUSED) == Some("true") {
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
    if rollout.spec.update_policy == "OnClaimDelete" {
        return message.or_else(|| {
            Some(format!(
                "only new PVCs; for all: kubectl annotate sts {name} {}=InPlace",
                keys::UPDATE_POLICY
            ))
        });
    }
    message
}

#[cfg(test)]
#[path = "view_tests.rs"]
pub(super) mod tests;
