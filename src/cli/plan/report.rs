//! What a plan says, as a value: the shape of `plan -o json`, which stays as it is.

use serde::Serialize;

/// What would happen to one set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanReport {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Where the manifest came from; none where the set is planned as it is.
    pub(crate) source: Option<String>,
    /// True iff the request would be accepted, and nothing stands in the way of any claim.
    pub(crate) goes_through: bool,
    /// What the policy would say to the request; none where there is no request.
    pub(crate) verdict: Option<PlanVerdict>,
    /// What would be wished for the set then; none if nothing would be.
    pub(crate) target: Option<TargetReport>,
    /// What would become of its Pods.
    pub(crate) pods: PodOutcome,
    /// Its claims, in the order of the rollout; empty where existing claims are left alone.
    pub(crate) claims: Vec<ClaimReport>,
    /// What stands in the way and concerns no single claim.
    pub(crate) obstacles: Vec<String>,
    /// What else to know: what was not checked, for one.
    pub(crate) notes: Vec<String>,
}

/// What the policy would say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PlanVerdict {
    pub(crate) outcome: PlanOutcome,
    /// Why it would refuse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// What it would warn of.
    pub(crate) warnings: Vec<String>,
}

/// What would become of the request.
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
    /// The templates are what they are.
    Unchanged,
    /// It would be denied.
    Refused,
}

/// What would be wished.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TargetReport {
    pub(crate) revision: String,
    pub(crate) update_policy: String,
    pub(crate) sync: String,
    /// Why no claim follows, if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idle: Option<String>,
}

/// What would become of Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PodOutcome {
    /// They run on.
    KeepRunning,
    /// Each is replaced when the claims of its replica are ready.
    AfterTheirClaims,
    /// Kubernetes replaces them, whatever becomes of claims.
    ByThemselves,
    /// Each is replaced when somebody deletes it.
    WhenDeleted,
}

/// What would become of one claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClaimReport {
    pub(crate) name: String,
    pub(crate) ordinal: u32,
    /// When it would be written, from 1: no claim is written before all earlier ones are ready, but for those of the same replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<usize>,
    pub(crate) action: PlannedAction,
    /// As it is; none where it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) now: Option<ClaimValues>,
    /// As it would be; none where nothing would be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<ClaimValues>,
    /// Labels and annotations that would change, as `key old -> new`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keys: Vec<String>,
    /// True iff the Pod of the replica would be replaced on account of the change.
    pub(crate) pod_replaced: bool,
    /// What keeps it from following, or what to know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) obstacles: Vec<String>,
}

/// What would be done with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum PlannedAction {
    /// It would be written.
    Update,
    /// It is as wished.
    UpToDate,
    /// It has been written, and is on its way.
    Wait,
    /// It does not exist; it would be made as wished.
    Create,
    /// Something stands in its way.
    Blocked,
    /// Its turn would not come, because an earlier one is blocked.
    NotReached,
    /// The user keeps it as it is: by the partition, a pause, or `updateStrategy: OnDelete`.
    Held,
}

/// What a claim asks for.
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
    /// The claims with which something like this is done.
    pub(crate) fn count(&self, action: PlannedAction) -> usize {
        self.claims.iter().filter(|claim| claim.action == action).count()
    }

    /// True iff there is nothing to write and nothing stands in the way.
    pub(crate) fn is_nothing_to_do(&self) -> bool {
        let quiet = |claim: &ClaimReport| matches!(claim.action, PlannedAction::UpToDate);
        let unchanged = self
            .verdict
            .as_ref()
            .is_none_or(|verdict| matches!(verdict.outcome, PlanOutcome::Unchanged | PlanOutcome::AlreadyStaged));
        unchanged && self.goes_through && self.pods == PodOutcome::KeepRunning && self.claims.iter().all(quiet)
    }
}
