//! One row for each PVC: its present and new values, its step, its obstacles.

use std::collections::BTreeMap;

use serde_json::Value;

use super::forecast::{Forecast, ForecastClaim, ForecastStep, claims_of};
use super::report::{ClaimReport, ClaimValues, PlannedAction, PodOutcome};
use crate::claims::compatible::{in_place, kept_fields};
use crate::claims::limits::SizeLimits;
use crate::claims::quota::{self, Growth, Quota};
use crate::claims::retention::PodUid;
use crate::claims::{AttributesClass, Belongs, Claim, Classes, Known, Obstacle, StorageClass, compatible};
use crate::cli::recorded::Recorded;
use crate::controller::objects::conversion;
use crate::gate::ClaimState;
use crate::gate::target::frozen;
use crate::rollout::{ApplyClaim, Quotas, Snapshot};
use crate::templates::rules::Frozen;
use crate::templates::show::shown;
use crate::templates::{ClaimTemplate, keys};

/// Checks writes to claims as the API server would.
pub(crate) struct Judge<'a> {
    state: &'a Recorded,
    /// The cluster before the rollout.
    start: &'a Snapshot,
    /// The quotas, with what the writes before use of them.
    quotas: Vec<Quota>,
    limits: Vec<SizeLimits>,
}

impl<'a> Judge<'a> {
    /// A judge of the claims of the set in this snapshot.
    pub(crate) fn new(state: &'a Recorded, start: &'a Snapshot) -> Self {
        let limits = state.all("v1", "LimitRange", &start.set.namespace);
        Self {
            state,
            start,
            quotas: match &start.quotas {
                Quotas::Known(quotas) => quotas.clone(),
                Quotas::Unchecked | Quotas::Unread => Vec::new(),
            },
            limits: limits.filter_map(|limits| conversion::limits(limits).ok()).collect(),
        }
    }

    /// Notes on quotas that could not be checked.
    pub(crate) fn unchecked(&self) -> Vec<String> {
        let quotas = self.state.all("v1", "ResourceQuota", &self.start.set.namespace);
        let notes = quotas.filter_map(|quota| {
            let why = conversion::unknown_quota(quota)?;
            let name = quota["metadata"]["name"].as_str().unwrap_or_default();
            Some(format!("not checked: ResourceQuota {name} {why}"))
        });
        notes.collect()
    }

    /// Checks whether the API server would deny this write in its turn. Accepted writes are counted.
    ///
    /// # Errors
    /// The message of the denial.
    pub(crate) fn check(&mut self, apply: &ApplyClaim) -> Result<(), String> {
        let name = apply.name.as_str();
        if let Some(obstacle) = self.obstacles(name).first() {
            return Err(obstacle.to_string());
        }
        let Some(claim) = self.start.claims.get(name) else {
            return Ok(());
        };
        if let Some(limit) = self.limits.iter().find_map(|limits| limits.denial(apply.storage)) {
            return Err(limit);
        }
        let growth = Growth::of(claim, apply.storage);
        growth.map_or(Ok(()), |growth| quota::charge(&mut self.quotas, &growth))
    }

    /// The obstacles of a claim that do not depend on its turn.
    fn obstacles(&self, name: &str) -> Vec<Obstacle> {
        let Some((claim, template, ordinal)) = self.place(name) else {
            return Vec::new();
        };
        let storage = claim.storage_class_name().unwrap_or_default();
        let storage = self.known("StorageClass", storage, StorageClass::read);
        let attributes = template.volume_attributes_class_name.as_deref().unwrap_or_default();
        let attributes = self.known("VolumeAttributesClass", attributes, AttributesClass::read);
        let belongs = Belongs {
            set_uid: &self.start.set.uid,
            pod: &self.start.set.pod_name(ordinal),
            pod_uid: PodUid::NotAsked,
            // The decision knows the Pod, with which another label does not matter.
            match_labels: &[],
        };
        let classes = Classes {
            storage: &storage,
            attributes: &attributes,
        };
        let template = in_place(template, claim, self.frozen());
        compatible(&template, claim, &belongs, &classes)
    }

    /// The immutable fields that a claim keeps, because those of its template are for new claims.
    fn keeps(&self, name: &str) -> Vec<String> {
        let Some((claim, template, _)) = self.place(name) else {
            return Vec::new();
        };
        let value = |value: &Option<String>| value.as_deref().map_or_else(|| "nothing".to_owned(), shown);
        let kept = kept_fields(template, claim, self.frozen()).into_iter();
        kept.map(|change| format!("{} {}, not {}", change.field, value(&change.to), value(&change.from)))
            .collect()
    }

    fn place(&self, name: &str) -> Option<(&Claim, &ClaimTemplate, u32)> {
        let (template, ordinal) = self.start.set.place_of(name)?;
        Some((self.start.claims.get(name)?, template, ordinal))
    }

    fn frozen(&self) -> Frozen {
        frozen(&self.start.set, &self.start.settings)
    }

    fn known<T, E>(&self, kind: &'static str, name: &str, read: impl Fn(&str) -> Result<T, E>) -> Known<T> {
        let versions = ["storage.k8s.io/v1", "storage.k8s.io/v1beta1"];
        let found = versions
            .iter()
            .find_map(|version| self.state.one(version, kind, "", name));
        match found.map(|object| read(&object.to_string())) {
            _ if !self.state.can_read(kind) => Known::Unknown,
            None => Known::Missing,
            Some(Ok(class)) => Known::Found(class),
            Some(Err(_)) => Known::Unknown,
        }
    }
}

/// True iff the claim would not be updated.
pub(crate) fn is_stuck(claim: &ClaimReport) -> bool {
    matches!(claim.action, PlannedAction::Blocked | PlannedAction::NotReached) || !claim.obstacles.is_empty()
}

/// The rows of a forecast, in its order.
pub(crate) fn rows(
    before: &[ForecastClaim],
    forecast: &Forecast,
    judge: &Judge<'_>,
    pods: PodOutcome,
) -> Vec<ClaimReport> {
    let after = claims_of(&forecast.end);
    let rows = before.iter().map(|standing| {
        let end = after
            .iter()
            .find(|end| end.row.name == standing.row.name)
            .unwrap_or(standing);
        row(standing, end, forecast, judge, pods)
    });
    rows.collect()
}

fn row(
    start: &ForecastClaim,
    end: &ForecastClaim,
    forecast: &Forecast,
    judge: &Judge<'_>,
    pods: PodOutcome,
) -> ClaimReport {
    let set = &judge.start.set;
    let mut writes = forecast.steps.iter().filter_map(|step| match step {
        ForecastStep::Claim(name) | ForecastStep::ReCreate(name) => Some(name),
        ForecastStep::Pod(_) => None,
    });
    let is_anew = forecast.steps.contains(&ForecastStep::ReCreate(start.row.name.clone()));
    let step = writes.position(|name| *name == start.row.name);
    let claim = judge.start.claims.get(&start.row.name);
    let object = judge
        .state
        .one("v1", "PersistentVolumeClaim", &set.namespace, &start.row.name);
    let action = if is_anew {
        PlannedAction::ReCreate
    } else if step.is_some() {
        PlannedAction::Update
    } else {
        action(start, end)
    };
    let written = matches!(
        action,
        PlannedAction::Update | PlannedAction::Blocked | PlannedAction::NotReached | PlannedAction::Held
    );
    let apply = start
        .apply
        .as_ref()
        .filter(|_| written && start.state != ClaimState::Foreign);
    ClaimReport {
        row: start.row.clone(),
        step: step.map(|step| step + 1),
        action,
        now: claim.map(values),
        then: if is_anew {
            let created = forecast.end.claims.get(&start.row.name);
            created.map(|claim| ClaimValues {
                capacity: None,
                ..values(claim)
            })
        } else {
            claim.zip(apply).map(|(claim, apply)| updated(claim, apply))
        },
        keys: object
            .zip(apply)
            .map(|(object, apply)| changed_keys(object, apply))
            .unwrap_or_default(),
        pod_replaced: match pods {
            _ if is_anew => true,
            PodOutcome::AfterTheirClaims => forecast.steps.contains(&ForecastStep::Pod(start.row.ordinal)),
            PodOutcome::ByThemselves => !set.is_below_partition(start.row.ordinal),
            PodOutcome::AfterTheReplacement => true,
            PodOutcome::KeepRunning | PodOutcome::WhenDeleted | PodOutcome::NotChecked => false,
        },
        pod_created: forecast.created.contains(&start.row.ordinal),
        keeps: judge.keeps(&end.row.name),
        obstacles: obstacles(end, apply.is_some(), judge),
    }
}

/// The values of a claim.
fn values(claim: &Claim) -> ClaimValues {
    ClaimValues {
        storage: claim.request.to_string(),
        capacity: claim.capacity.map(|capacity| capacity.to_string()),
        storage_class: claim.storage_class_name().map(str::to_owned),
        attributes_class: claim.class.clone(),
    }
}

/// The values of a claim after its write.
fn updated(claim: &Claim, apply: &ApplyClaim) -> ClaimValues {
    let class = apply.volume_attributes_class_name.clone();
    ClaimValues {
        storage: apply.storage.to_string(),
        capacity: None,
        attributes_class: class.or_else(|| claim.class.clone()),
        ..values(claim)
    }
}

/// The obstacles of a claim: its state at the end of the forecast and, if it is to be written, the obstacles that the
/// judge finds.
fn obstacles(end: &ForecastClaim, written: bool, judge: &Judge<'_>) -> Vec<String> {
    let mut obstacles = Vec::new();
    if is_blocked(end.state) {
        obstacles.push(end.row.message.clone());
    }
    if written {
        // Differences are reported already, with both values.
        let is_new = |obstacle: &&Obstacle| !matches!(obstacle, Obstacle::Differs { .. });
        let found = judge.obstacles(&end.row.name);
        obstacles.extend(found.iter().filter(is_new).map(ToString::to_string));
        obstacles.dedup();
    }
    obstacles
}

/// True iff a claim in this state does not make progress by itself.
const fn is_blocked(state: ClaimState) -> bool {
    state.is_stalled() || matches!(state, ClaimState::Unbound)
}

/// The action on a claim that the forecast never writes.
fn action(start: &ForecastClaim, end: &ForecastClaim) -> PlannedAction {
    match end.state {
        ClaimState::Done if start.state == ClaimState::Done => PlannedAction::UpToDate,
        _ if start.state == ClaimState::Missing => PlannedAction::Create,
        ClaimState::Missing | ClaimState::Terminating => PlannedAction::Create,
        blocked if is_blocked(blocked) => PlannedAction::Blocked,
        ClaimState::Pending if end.is_kept => PlannedAction::Held,
        ClaimState::Pending => PlannedAction::NotReached,
        _ => PlannedAction::Wait,
    }
}

fn changed_keys(claim: &Value, apply: &ApplyClaim) -> Vec<String> {
    let changes = |kind: &str, wanted: &BTreeMap<String, String>| {
        let found = &claim["metadata"][kind];
        let changed = wanted
            .iter()
            .filter(|(key, value)| found[key.as_str()].as_str() != Some(value.as_str()));
        let words = changed
            .filter(|(key, _)| ![keys::REVISION, keys::MODIFIED].contains(&key.as_str()))
            .map(|(key, value)| format!("{key} {} -> {value}", found[key.as_str()].as_str().unwrap_or("none")));
        words.collect::<Vec<_>>()
    };
    [
        changes("labels", &apply.labels),
        changes("annotations", &apply.annotations),
    ]
    .concat()
}
