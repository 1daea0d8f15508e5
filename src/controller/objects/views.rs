//! Converts objects of the API to the input of the decisions.

use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::claim::SlimClaim;
use super::pod::{POD_REVISION, PodCondition, SlimPod};
use super::set::{AdvancedSpec, SlimSet, owner};
use super::set_kind::SetKind;
use crate::api::{Seconds, time};
use crate::claims;
use crate::claims::Owner;
use crate::claims::claim::ClaimError;
use crate::controller::crd::ClaimRollout;
use crate::gate::{SetView, StagedAt};
use crate::json::Map;
use crate::rollout::snapshot::Unready;
use crate::rollout::{PodView, Previous};
use crate::templates::{
    Phase, Restart, Revision, StagedChange, Staging, Strategy, Sync, TemplateError, UpdatePolicy, keys,
};

/// OpenKruise would update the same PVCs.
const UPDATES_CLAIMS: &str = "spec.volumeClaimUpdateStrategy is OnPodRollingUpdate, so OpenKruise updates the PVCs itself; \
    set it to OnDelete, or remove the annotation claim-rollout.io/update-policy";

/// The ordinals of such a set are not the numbers that follow each other.
const RESERVES_ORDINALS: &str = "spec.reserveOrdinals is set, and claim-rollout does not know the PVCs of such a \
    StatefulSet; use volumeClaimUpdateStrategy OnPodRollingUpdate of OpenKruise instead, and remove the annotation \
    claim-rollout.io/update-policy";

/// An object of the API with an invalid value. The validation of the API server prevents it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ViewError {
    /// The templates of a StatefulSet.
    #[error("StatefulSet: {0}")]
    Templates(#[from] TemplateError),
    /// A PVC.
    #[error("PersistentVolumeClaim {claim}: {source}")]
    Claim {
        /// The name of the PVC.
        claim: String,
        /// The cause.
        source: ClaimError,
    },
}

/// The set as the decision reads it.
///
/// # Errors
/// [`ViewError`] if the templates are invalid.
pub(crate) fn set(set: &SlimSet) -> Result<SetView, ViewError> {
    let metadata = &set.metadata;
    let view = SetView {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        resource_version: metadata.resource_version.clone().unwrap_or_default(),
        generation: metadata.generation.unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
        controller: controller(metadata),
        replicas: natural(set.spec.replicas.unwrap_or(1)),
        first_ordinal: natural(set.spec.first_ordinal),
        match_labels: map(&set.spec.match_labels),
        live: set.templates()?,
        partition: natural(set.spec.partition),
        min_ready_seconds: u64::from(natural(set.spec.min_ready_seconds)),
        status_is_current: Some(set.status.observed_generation) == metadata.generation,
        strategy: set.spec.strategy,
        pod_management: set.spec.pod_management,
        max_unavailable: set.spec.has_max_unavailable,
        update_revision: set.status.update_revision.to_string(),
        progress_deadline: parsed(set, keys::PROGRESS_DEADLINE).unwrap_or_default(),
        max_in_motion: parsed(set, keys::MAX_IN_MOTION),
        restart: parsed(set, keys::RESTART).unwrap_or_default(),
        recreate_snapshot: set.annotation(keys::RECREATE_SNAPSHOT).map(str::to_owned),
        staged_at: staged_at(set),
        ..SetView::annotated(metadata.uid.as_deref().unwrap_or_default(), |key| set.annotation(key))
    };
    Ok(match set.kind {
        SetKind::Apps => view,
        SetKind::OpenKruise => advanced(set, view),
    })
}

/// The same of OpenKruise: only its PVCs are updated, and their order is independent of its Pods.
fn advanced(set: &SlimSet, view: SetView) -> SetView {
    let AdvancedSpec {
        updates_claims,
        reserves_ordinals,
        is_paused,
    } = set.spec.advanced;
    let not_supported = if updates_claims {
        Some(UPDATES_CLAIMS)
    } else {
        reserves_ordinals.then_some(RESERVES_ORDINALS)
    };
    let change = StagedChange {
        by: String::new(),
        manager: String::new(),
        phase: Phase::Complete,
        replicas: 0,
        // Nobody stages here. Each way back is a rollout of its own, which gives its PVCs another label, so one label for
        // each revision is enough; one for each generation would write every PVC again after every other edit.
        staging: Staging::of(&view.uid, "", &Revision::of(&view.live)),
        templates: view.live.clone(),
        uid: view.uid.clone(),
        update_policy: UpdatePolicy::InPlace,
    };
    SetView {
        templates_can_change: true,
        not_supported,
        staged: set.is_managed().then_some(change),
        unreadable: None,
        replace_set: None,
        ready: None,
        recreate_snapshot: None,
        sync: Sync::Async,
        restart: Restart::Never,
        strategy: Strategy::RollingUpdate,
        paused: view.paused || is_paused,
        ..view
    }
}

/// The value of an annotation; none if it is absent or invalid.
fn parsed<T: FromStr>(set: &SlimSet, key: &str) -> Option<T> {
    set.annotation(key)?.parse().ok()
}

fn staged_at(set: &SlimSet) -> StagedAt {
    set.annotation(keys::STAGED_AT).map_or(StagedAt::Absent, |text| {
        time::read(text).map_or(StagedAt::Unreadable, StagedAt::At)
    })
}

/// The PVC as the decision reads it.
///
/// # Errors
/// [`ViewError`] if it has an invalid value.
pub(crate) fn claim(claim: &SlimClaim) -> Result<claims::Claim, ViewError> {
    claim.read.clone().map_err(|source| ViewError::Claim {
        claim: claim.metadata.name.clone().unwrap_or_default(),
        source,
    })
}

/// The Pod as the decision reads it; none if it has ended, because it does not mount volumes any more.
#[must_use]
pub(crate) fn pod(pod: &SlimPod) -> Option<PodView> {
    if matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
        return None;
    }
    let metadata = &pod.metadata;
    Some(PodView {
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        controller: controller(metadata),
        revision: metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(POD_REVISION))
            .cloned()
            .unwrap_or_default(),
        created: seconds(metadata.creation_timestamp.as_ref()),
        deleted: metadata.deletion_timestamp.as_ref().map(|time| seconds(Some(time))),
        ready_since: ready_since(pod),
        unready: unready(pod),
        claims: pod.claims().map(str::to_owned).collect(),
        volumes: pod.volumes().map(str::to_owned).collect(),
    })
}

/// Since when a Pod has been Ready; none if it is being deleted.
fn ready_since(pod: &SlimPod) -> Option<Seconds> {
    if pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let ready = pod_condition(pod, "Ready", "True")?;
    Some(seconds(ready.last_transition_time.as_ref()))
}

/// Why a Pod is not Ready. That it is not scheduled comes before that its containers are not Ready.
fn unready(pod: &SlimPod) -> Option<Unready> {
    let why = pod_condition(pod, "PodScheduled", "False").or_else(|| pod_condition(pod, "Ready", "False"))?;
    Some(Unready {
        since: seconds(why.last_transition_time.as_ref()),
        message: why.message.clone(),
    })
}

fn pod_condition<'a>(pod: &'a SlimPod, kind: &str, status: &str) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.conditions.iter();
    conditions.find(|condition| condition.type_ == kind && condition.status == status)
}

/// An absent time counts as the Unix epoch.
fn seconds(time: Option<&Time>) -> Seconds {
    let seconds = time.map_or(0, |time| time.0.as_second());
    u64::try_from(seconds).unwrap_or(0)
}

/// The previous report of the set with this uid; none if the report is about a previous set of the same name.
#[must_use]
pub(crate) fn previous(rollout: &ClaimRollout, set_uid: &str) -> Option<Previous> {
    if rollout.spec.set_ref.uid != set_uid {
        return None;
    }
    let status = rollout.status.as_ref()?;
    let claims = status.claims.iter().map(|claim| {
        (
            claim.name.clone(),
            (claim.state.clone(), claim.reason.clone(), claim.message.clone()),
        )
    });
    let ready = status.condition("Ready");
    Some(Previous {
        revision: Revision::from_text(&status.update_revision),
        staging: status.staging.as_deref().and_then(Staging::read),
        started: status.started_at.as_ref().map(|time| seconds(Some(time))),
        claims: claims.collect(),
        moved: status.last_progress_time.as_ref().map(|time| seconds(Some(time))),
        ready: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
    })
}

fn controller(metadata: &ObjectMeta) -> Option<Owner> {
    let owners = metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.next().cloned().map(owner)
}

fn natural(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

fn map(strings: &[(Box<str>, Box<str>)]) -> Map<String> {
    let strings = strings.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    Map::from_unsorted(strings.collect()).unwrap_or_default()
}

#[cfg(test)]
#[path = "views_tests.rs"]
mod tests;
