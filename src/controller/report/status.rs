//! Writes the ClaimRollout of a set if it has changed.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as ApiCondition, OwnerReference, Time};
use kube::ResourceExt;
use kube::api::{Api, Patch};
use serde_json::json;

use crate::api::{ApiOutcome, ReadyReason, ReplacementPhase, ReplacementReason, Seconds};
use crate::controller::calls::api_calls::{call, merge, post};
use crate::controller::clock::timestamp;
use crate::controller::crd::{
    ClaimRollout, ClaimRolloutSpec, ClaimRolloutStatus, PvcStatus, ReplacementStatus, StatefulSetRef, TemplateStatus,
};
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set::SlimSet;
use crate::gate::{ClaimState, readiness};
use crate::rollout::machine::{COLLECT, ReportWrite};
use crate::rollout::{ClaimProgress, Condition, Progress, TemplateProgress};
use crate::templates::{ReplaceSet, Sync, keys};

/// Writes the `spec` of the ClaimRollout of the set if it differs. Returns the object, and whether it was written.
///
/// `seen` is the known object. The object of a previous set of the same name is adopted, because it has the same name. One
/// that somebody changed a moment after it was written is restored later.
pub(crate) async fn ensure(
    api: &Api<SlimRollout>,
    set: &SlimSet,
    spec: ClaimRolloutSpec,
    seen: Option<Arc<ClaimRollout>>,
    restores: bool,
) -> ApiOutcome<(Arc<ClaimRollout>, ReportWrite)> {
    let owners = match &seen {
        // The garbage collector may have removed the owner of a set that is being deleted without its dependents. If it
        // came back, the ClaimRollout would be deleted with the set.
        Some(seen) if set.metadata.deletion_timestamp.is_some() => seen.owner_references().to_vec(),
        _ => vec![owner(set)],
    };
    let exists = seen.is_some();
    let is_current = |seen: &ClaimRollout| seen.spec == spec && seen.owner_references() == owners;
    match seen {
        Some(seen) if is_current(&seen) => ApiOutcome::Done((seen, ReportWrite::Nothing)),
        Some(seen) if restores => ApiOutcome::Done((seen, ReportWrite::Later)),
        _ => write_spec(api, set, &spec, &owners, exists)
            .await
            .and_then(|SlimRollout(rollout)| ApiOutcome::Done((Arc::new(rollout), ReportWrite::Something))),
    }
}

/// Writes the `status` of the ClaimRollout if it differs.
///
/// For [`COLLECT`] seconds after the last write, intermediate steps of PVCs alone are not written: a driver may take many
/// of them in that time. Nor is what somebody else changed since.
pub(crate) async fn write(
    api: &Api<SlimRollout>,
    progress: &Progress,
    rollout: Arc<ClaimRollout>,
    last: Last,
    now: Seconds,
) -> ApiOutcome<(Arc<ClaimRollout>, ReportWrite)> {
    let generation = rollout.metadata.generation.unwrap_or_default();
    let status = status(progress, rollout.status.as_ref(), generation, now);
    if rollout.status.as_ref() == Some(&status) {
        return ApiOutcome::Done((rollout, ReportWrite::Nothing));
    }
    let is_recent = last.at.is_some_and(|last| last.abs_diff(now) < COLLECT);
    let is_step = |before: &ClaimRolloutStatus| essence(before) == essence(&status);
    if last.restores || is_recent && rollout.status.as_ref().is_some_and(is_step) {
        return ApiOutcome::Done((rollout, ReportWrite::Later));
    }
    let name = rollout.name_any();
    // A field that is absent is null in the patch, so nothing of the previous status is left. A server-side apply of the
    // same costs the API server about twice as much.
    let mut body = json!({ "metadata": { "uid": rollout.uid() }, "status": status });
    // The replacement of the set writes this field. Here it only ends: with its target, or after a crash.
    let before = rollout.status.as_ref().and_then(|before| before.replacement.as_ref());
    let ends = status.replacement.as_ref() != before;
    if ends {
        // The replacement may have reported something that the watch does not show yet.
        body["metadata"]["resourceVersion"] = json!(rollout.resource_version());
    } else {
        body["status"]
            .as_object_mut()
            .map(|fields| fields.remove("replacement"));
    }
    let reply = call(api.patch_status(&name, &merge(), &Patch::Merge(&body))).await;
    if ends && reply.is_conflict() {
        return ApiOutcome::Done((rollout, ReportWrite::Later));
    }
    reply.and_then(|SlimRollout(rollout)| ApiOutcome::Done((Arc::new(rollout), ReportWrite::Something)))
}

/// The last write of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// Its time, if known.
    pub(crate) at: Option<Seconds>,
    /// True iff it was a moment ago, and had the same content.
    pub(crate) restores: bool,
}

/// Creates the ClaimRollout, or patches the known one. A server-side apply of the same costs the API server about twice
/// as much.
async fn write_spec(
    api: &Api<SlimRollout>,
    set: &SlimSet,
    spec: &ClaimRolloutSpec,
    owners: &[OwnerReference],
    exists: bool,
) -> ApiOutcome<SlimRollout> {
    let mut rollout = ClaimRollout::new(&set.name_any(), spec.clone());
    rollout.metadata.owner_references = Some(owners.to_vec());
    if !exists {
        let created = call(api.create(&post(), &SlimRollout(rollout))).await;
        if !created.is_conflict() {
            return created;
        }
    }
    let body = json!({ "metadata": { "ownerReferences": owners }, "spec": spec });
    call(api.patch(&set.name_any(), &merge(), &Patch::Merge(&body))).await
}

/// The owner reference to the set, with which the ClaimRollout is deleted. It is no controller reference and blocks
/// nothing.
fn owner(set: &SlimSet) -> OwnerReference {
    OwnerReference {
        api_version: set.kind.api_version().to_owned(),
        kind: "StatefulSet".to_owned(),
        name: set.name_any(),
        uid: set.uid().unwrap_or_default(),
        controller: None,
        block_owner_deletion: None,
    }
}

/// The `spec` of the ClaimRollout of the set.
pub(crate) fn spec(set: &SlimSet, progress: &Progress, replace_set: ReplaceSet) -> ClaimRolloutSpec {
    let sync: Sync = set
        .annotation(keys::SYNC)
        .and_then(|sync| sync.parse().ok())
        .unwrap_or_default();
    ClaimRolloutSpec {
        set_ref: StatefulSetRef {
            api_version: set.kind.api_version().to_owned(),
            kind: "StatefulSet".to_owned(),
            name: set.name_any(),
            uid: set.uid().unwrap_or_default(),
        },
        revision: progress.update_revision.to_string(),
        staging: progress.staging.as_ref().map(ToString::to_string),
        templates: progress
            .templates
            .iter()
            .map(|template| template.to_value().into())
            .collect(),
        update_policy: progress.update_policy.to_string(),
        sync: sync.to_string(),
        replace_set: set
            .annotation(keys::REPLACE_SET)
            .and_then(|text| text.parse().ok())
            .unwrap_or(replace_set)
            .to_string(),
    }
}

/// The status for this progress. Parts that have not changed keep their times.
fn status(
    progress: &Progress,
    before: Option<&ClaimRolloutStatus>,
    generation: i64,
    now: Seconds,
) -> ClaimRolloutStatus {
    let now = time(now);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let counts = progress.counts;
    // Another controller may have seen the target before.
    let staging = progress.staging.as_ref().map(ToString::to_string);
    // When what was staged is live, nothing is staged any more.
    let is_same = |before: &&ClaimRolloutStatus| {
        before.update_revision == progress.update_revision.as_str() && (staging.is_none() || before.staging == staging)
    };
    let known = before.filter(is_same);
    // The set that somebody else created has templates of its own. That is reported until something else is staged.
    let is_foreign = |replacement: &&ReplacementStatus| {
        let reason = replacement.reason.as_deref();
        reason == Some(ReplacementReason::ForeignSet.as_str())
            && progress.ready.reason == ReadyReason::Withdrawn.as_str()
    };
    // Its replacement writes it; a new target has not been replaced.
    let replacement = before.and_then(|before| before.replacement.as_ref());
    let replacement = replacement.filter(|replacement| known.is_some() || is_foreign(replacement));
    let started_at = known.and_then(|known| known.started_at.clone());
    ClaimRolloutStatus {
        observed_generation: generation,
        current_revision: progress.current_revision.to_string(),
        update_revision: progress.update_revision.to_string(),
        staging,
        started_at: started_at.or_else(|| Some(time(progress.started))),
        last_progress_time: progress.moved.map(time),
        replicas: counts.map(|counts| count(counts.replicas)),
        current_replicas: counts.map(|counts| count(counts.current)),
        updated_replicas: counts.map(|counts| count(counts.updated)),
        ready_replicas: counts.map(|counts| count(counts.ready)),
        volume_claim_templates: progress.by_template.iter().map(template_status).collect(),
        claims: progress
            .claims
            .iter()
            .map(|claim| claim_status(claim, before, &now))
            .collect(),
        conditions: [
            ("Ready", &progress.ready),
            ("Reconciling", &progress.reconciling),
            ("Stalled", &progress.stalled),
        ]
        .map(|(type_, condition)| api_condition(type_, condition, before, generation, &now))
        .into(),
        replacement: replacement.map(|replacement| ended(replacement, progress, &now)),
    }
}

/// The replacement as it is now. Nothing is reported here while it is in progress. So a controller was killed after its
/// last step and before its last report, if the templates that were staged are live. Others may create the set with any
/// number of replicas.
fn ended(replacement: &ReplacementStatus, progress: &Progress, now: &Time) -> ReplacementStatus {
    let replacement = ReplacementStatus {
        replicas: None,
        ..replacement.clone()
    };
    if replacement.phase != ReplacementPhase::InProgress.as_str()
        || progress.ready.reason != ReadyReason::NothingStaged.as_str()
    {
        return replacement;
    }
    ReplacementStatus {
        phase: ReplacementPhase::Replaced.to_string(),
        step: None,
        since: now.clone(),
        ..replacement
    }
}

/// A status without the intermediate steps of PVCs in motion and without the number of updated PVCs. It keeps the
/// number of ready PVCs, failed PVCs, and the conditions.
fn essence(status: &ClaimRolloutStatus) -> ClaimRolloutStatus {
    let mut essence = status.clone();
    (essence.current_replicas, essence.updated_replicas) = (None, None);
    essence.last_progress_time = None;
    for template in &mut essence.volume_claim_templates {
        (template.updated_replicas, template.compatible_replicas) = (0, 0);
    }
    let is_in_motion = |claim: &&mut PvcStatus| match ClaimState::read(&claim.state) {
        Some(ClaimState::Pending) => claim.reason == readiness::WAITING,
        state => state.is_some_and(ClaimState::is_in_motion),
    };
    for claim in essence.claims.iter_mut().filter(is_in_motion) {
        claim.state.clear();
        claim.reason.clear();
        claim.message.clear();
        claim.since = time(0);
    }
    let moving = essence.conditions.iter_mut();
    for condition in moving.filter(|condition| condition.reason == ReadyReason::RollingOut.as_str()) {
        condition.message.clear();
    }
    essence
}

fn template_status(progress: &TemplateProgress) -> TemplateStatus {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    TemplateStatus {
        template_name: progress.template.clone(),
        updated_replicas: count(progress.updated),
        ready_replicas: count(progress.ready),
        compatible_replicas: count(progress.compatible),
        compatible_ready_replicas: count(progress.compatible_ready),
        finished_reconciliation_generation: progress.finished,
    }
}

fn claim_status(claim: &ClaimProgress, before: Option<&ClaimRolloutStatus>, now: &Time) -> PvcStatus {
    let state = claim.state.as_str();
    let before = before.and_then(|before| {
        before
            .claims
            .iter()
            .find(|known| known.name == claim.name && known.state == state && known.reason == claim.reason)
    });
    PvcStatus {
        name: claim.name.clone(),
        ordinal: i64::from(claim.ordinal),
        state: state.to_owned(),
        reason: claim.reason.clone(),
        message: claim.message.clone(),
        since: before.map_or_else(|| now.clone(), |before| before.since.clone()),
    }
}

fn api_condition(
    type_: &str,
    condition: &Condition,
    before: Option<&ClaimRolloutStatus>,
    generation: i64,
    now: &Time,
) -> ApiCondition {
    let status = if condition.holds { "True" } else { "False" };
    let before = before.and_then(|before| {
        before
            .conditions
            .iter()
            .find(|known| known.type_ == type_ && known.status == status)
    });
    ApiCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: condition.reason.to_owned(),
        message: condition.message.clone(),
        observed_generation: Some(generation),
        last_transition_time: before.map_or_else(|| now.clone(), |before| before.last_transition_time.clone()),
    }
}

fn time(seconds: Seconds) -> Time {
    Time(timestamp(seconds))
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
