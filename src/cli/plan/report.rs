//! A plan as data. The fields are the stable format of `plan -o json`.

use serde::Serialize;

use crate::cli::row::ClaimRow;
use crate::replace::Fault;

/// The plan for one set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanReport {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The source of the manifest; none without a manifest.
    pub(crate) source: Option<String>,
    /// True iff the request would be accepted and no claim has an obstacle.
    pub(crate) goes_through: bool,
    /// The verdict on the request; none without a manifest.
    pub(crate) verdict: Option<PlanVerdict>,
    /// The staged change after the request; none if nothing would be staged.
    pub(crate) target: Option<TargetReport>,
    /// The outcome for the Pods.
    pub(crate) pods: PodOutcome,
    /// The claims in the order of the rollout; empty if existing PVCs stay as they are.
    pub(crate) claims: Vec<ClaimReport>,
    /// The replacement of the set after the rollout; none if nothing asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replacement: Option<ReplacementReport>,
    /// Obstacles that do not concern a single claim.
    pub(crate) obstacles: Vec<String>,
    /// Notes, for example on checks that were not made.
    pub(crate) notes: Vec<String>,
}

/// The replacement of the set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplacementReport {
    pub(crate) asked_by: ReplacementOrigin,
    /// Why the set would not be replaced now, if its rollout were complete.
    pub(crate) prevented_by: Vec<Fault>,
}

/// What asks for a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum ReplacementOrigin {
    /// The annotation `replace-set`.
    Annotation,
    /// The setting `defaultReplaceSet`.
    Setting,
}

/// The verdict on the request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanVerdict {
    pub(crate) outcome: PlanOutcome,
    /// Why the API server was not asked. None if it was, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided_here: Option<String>,
    /// The reason of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The warnings, of the policy and of others.
    pub(crate) warnings: Vec<String>,
}

/// The outcome of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PlanOutcome {
    /// There is no such set: it would be created.
    Created,
    /// The change would be staged.
    Staged,
    /// The same change is staged already.
    AlreadyStaged,
    /// The staged change would be dropped.
    Withdrawn,
    /// The templates stay as they are.
    Unchanged,
    /// It would be denied.
    Refused,
}

/// The target of the rollout.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetReport {
    pub(crate) revision: String,
    pub(crate) update_policy: String,
    pub(crate) sync: String,
    /// Why no claim is updated, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idle: Option<String>,
    /// The same in one word, as the condition `Ready` would have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}

/// The outcome for Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PodOutcome {
    /// They keep running.
    KeepRunning,
    /// Each is replaced when the claims of its replica are ready.
    AfterTheirClaims,
    /// Kubernetes replaces them independently of their claims.
    ByThemselves,
    /// Each is replaced when somebody deletes it.
    WhenDeleted,
    /// Each is evicted after the set was replaced, lowest ordinal first, to mount the volume of an added template.
    AfterTheReplacement,
    /// They cannot be read.
    NotChecked,
}

/// The plan for one claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimReport {
    /// The claim before the rollout.
    #[serde(flatten)]
    pub(crate) row: ClaimRow,
    /// The position in the order of writes, from 1. A claim is written when all previous ones are ready, but for those
    /// of the same replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<usize>,
    pub(crate) action: PlannedAction,
    /// The present values; none if the claim does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<ClaimValues>,
    /// The new values; none if nothing would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<ClaimValues>,
    /// Labels and annotations that would change, as `key old -> new`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<String>,
    /// True iff the Pod of the replica would be replaced because of the change.
    pub(crate) pod_replaced: bool,
    /// True iff the replica has no Pod yet.
    pub(crate) pod_created: bool,
    /// Immutable fields that the claim keeps, because those of the template are for new claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keeps: Vec<String>,
    /// The obstacles of the claim.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) obstacles: Vec<String>,
}

/// The action on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PlannedAction {
    /// It would be written.
    Update,
    /// It would be deleted with its data, and created from the desired template.
    ReCreate,
    /// It is updated already.
    UpToDate,
    /// It has been written, and is in progress.
    Wait,
    /// It does not exist; it would be created from the desired template.
    Create,
    /// It has an obstacle.
    Blocked,
    /// Its turn would not come, because a previous one is blocked.
    NotReached,
    /// The user keeps it as it is: by the partition, a pause, or `updateStrategy: OnDelete`.
    Held,
}

/// The values of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimValues {
    /// `spec.resources.requests.storage`
    pub(crate) storage: String,
    /// `status.capacity.storage`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<String>,
    /// `spec.storageClassName`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) storage_class: Option<String>,
    /// `spec.volumeAttributesClassName`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attributes_class: Option<String>,
}

impl PlanReport {
    /// The number of claims with this action.
    pub(crate) fn count(&self, action: PlannedAction) -> usize {
        self.claims.iter().filter(|claim| claim.action == action).count()
    }

    /// True iff there is nothing to write and no obstacle.
    pub(crate) fn is_nothing_to_do(&self) -> bool {
        let quiet = |claim: &ClaimReport| matches!(claim.action, PlannedAction::UpToDate);
        let unchanged = self
            .verdict
            .as_ref()
            .is_none_or(|verdict| matches!(verdict.outcome, PlanOutcome::Unchanged | PlanOutcome::AlreadyStaged));
        unchanged
            && self.goes_through
            && self.replacement.is_none()
            && self.pods == PodOutcome::KeepRunning
            && self.claims.iter().all(quiet)
    }
}
