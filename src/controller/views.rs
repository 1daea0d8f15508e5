//! From the objects of the API to what the decision reads.

use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::crd::ClaimRollout;
use super::slim::{self, Claim, POD_REVISION, Pod, PodCondition, Set};
use crate::claims::claim::ClaimError;
use crate::claims::{self, Owner};
use crate::json::Map;
use crate::rollout::snapshot::Unready;
use crate::rollout::{PodView, Previous, Seconds, SetView};
use crate::templates::{Revision, TemplateError, keys};

/// Why an object of the API cannot be read. The API server would have to have changed its mind about what is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ViewError {
    /// The templates of a set.
    #[error("StatefulSet: {0}")]
    Templates(#[from] TemplateError),
    /// A claim.
    #[error("PersistentVolumeClaim {claim}: {source}")]
    Claim {
        /// Its name.
        claim: String,
        /// What is wrong with it.
        source: ClaimError,
    },
}

/// What the decision reads of a set.
///
/// # Errors
/// [`ViewError`] if the templates cannot be read.
pub(super) fn set(set: &Set) -> Result<SetView, ViewError> {
    let metadata = &set.metadata;
    Ok(SetView {
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
        ..SetView::annotated(metadata.uid.as_deref().unwrap_or_default(), |key| set.annotation(key))
    })
}

/// The value of an annotation; nothing where it is absent or cannot be read.
fn parsed<T: FromStr>(set: &Set, key: &str) -> Option<T> {
    set.annotation(key)?.parse().ok()
}

/// What the decision reads of a claim.
///
/// # Errors
/// [`ViewError`] if it cannot be read.
pub(super) fn claim(claim: &Claim) -> Result<claims::Claim, ViewError> {
    claim.read.clone().map_err(|source| ViewError::Claim {
        claim: claim.metadata.name.clone().unwrap_or_default(),
        source,
    })
}

/// What the decision reads of a Pod; nothing of one that has ended, because it mounts nothing any more.
#[must_use]
pub(super) fn pod(pod: &Pod) -> Option<PodView> {
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
    })
}

/// Since when a Pod has been Ready; nothing for one that is on its way out.
fn ready_since(pod: &Pod) -> Option<Seconds> {
    if pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let ready = pod_condition(pod, "Ready", "True")?;
    Some(seconds(ready.last_transition_time.as_ref()))
}

/// Why a Pod is not Ready: that it has no node rather than that its containers are not Ready.
fn unready(pod: &Pod) -> Option<Unready> {
    let why = pod_condition(pod, "PodScheduled", "False").or_else(|| pod_condition(pod, "Ready", "False"))?;
    Some(Unready {
        since: seconds(why.last_transition_time.as_ref()),
        message: why.message.clone(),
    })
}

fn pod_condition<'a>(pod: &'a Pod, kind: &str, status: &str) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.conditions.iter();
    conditions.find(|condition| condition.type_ == kind && condition.status == status)
}

/// A time that is not told is long ago.
fn seconds(time: Option<&Time>) -> Seconds {
    let seconds = time.map_or(0, |time| time.0.as_second());
    u64::try_from(seconds).unwrap_or(0)
}

/// What was last reported of a set with this uid; nothing if it was reported of an earlier set of the same name.
#[must_use]
pub(super) fn previous(rollout: &ClaimRollout, set_uid: &str) -> Option<Previous> {
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
    let moved = status.claims.iter().map(|claim| &claim.since).chain(&status.started_at);
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    Some(Previous {
        revision: Revision::from_text(&status.update_revision),
        started: status.started_at.as_ref().map(|time| seconds(Some(time))),
        claims: claims.collect(),
        moved: seconds(moved.max()),
        ready: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
    })
}

fn controller(metadata: &ObjectMeta) -> Option<Owner> {
    let owners = metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers.next().cloned().map(slim::owner)
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
