//! What the decision reads, and nothing more: small own types that the shell fills from the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::budget::Budgets;
use super::idle::{Idle, MOST_CLAIMS};
pub use super::time::Seconds;
use crate::api::Settings;
pub use crate::claims::progress::{Modify, Resize, Trouble};
use crate::claims::quota::Quotas;
use crate::claims::{Belongs, Claim, Foreign, Owner, foreign};
use crate::json::Map;
use crate::templates::{
    ClaimName, ClaimTemplate, MaxInMotion, ProgressDeadline, Ready, Restart, Revision, StagedChange, StagedError, Sync,
    UpdatePolicy, keys,
};

/// Everything that was seen of one set at one time.
///
/// The parts may be of different ages. That is harmless, because every write carries the uid and the resourceVersion
/// of what it was decided for (S9).
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The time.
    pub now: Seconds,
    /// The settings, by which a staged change is judged again.
    pub settings: Arc<Settings>,
    /// Why the controller does nothing although something is to be rolled out: [`Idle::PolicyMissing`] or
    /// [`Idle::WriteUndone`].
    pub halted: Option<Idle>,
    /// Why the last write to the set was refused, and when it is tried again.
    pub write_refused: Option<(String, Seconds)>,
    /// Why the last eviction of a Pod was denied, and when it is tried again.
    pub not_evicted: Option<(String, Seconds)>,
    /// When the change was staged at the latest, by the API server's clock; nothing where nobody knows.
    pub staged_at: Option<Seconds>,
    /// The set.
    pub set: SetView,
    /// Claims of the namespace that may be the set's, by name.
    pub claims: BTreeMap<String, Claim>,
    /// Pods of the namespace that are the set's or mount one of its claims, by name.
    pub pods: BTreeMap<String, PodView>,
    /// Other sets of the namespace whose claims could have the same names.
    pub siblings: Vec<Sibling>,
    /// Earlier writes to claims that the API server refused, by the uid of the claim.
    pub refusals: BTreeMap<String, Refusal>,
    /// What the quotas of the namespace leave.
    pub quotas: Quotas,
    /// What their storage classes allow.
    pub budgets: Budgets,
    /// What was last reported.
    pub previous: Option<Previous>,
}

/// A StatefulSet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetView {
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.generation`
    pub generation: i64,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// The controller among `metadata.ownerReferences`.
    pub controller: Option<Owner>,
    /// `spec.replicas`
    pub replicas: u32,
    /// `spec.ordinals.start`
    pub first_ordinal: u32,
    /// `spec.selector.matchLabels`
    pub match_labels: Map<String>,
    /// `spec.volumeClaimTemplates`
    pub live: Vec<ClaimTemplate>,
    /// The valid record among the annotations.
    pub staged: Option<StagedChange>,
    /// Why the annotation that should be the record is none.
    pub unreadable: Option<StagedError>,
    /// The annotation `claim-rollout.io/update-policy`. A value that is not known counts as `OnClaimDelete`: nothing is
    /// written for a wish that cannot be read.
    pub update_policy: Option<UpdatePolicy>,
    /// The annotation `claim-rollout.io/paused`.
    pub paused: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`
    pub partition: u32,
    /// The annotation `claim-rollout.io/ready`.
    pub ready: Option<Ready>,
    /// The annotation `claim-rollout.io/sync`. A value that is not known counts as `LockStep`, which waits.
    pub sync: Sync,
    /// The annotation `claim-rollout.io/progress-deadline`. A value that is not known counts as none.
    pub progress_deadline: ProgressDeadline,
    /// The annotation `claim-rollout.io/max-in-motion`, else the flag of the controller. A value that is not known counts as
    /// none.
    pub max_in_motion: Option<MaxInMotion>,
    /// The annotation `claim-rollout.io/restart`. A value that is not known counts as `Never`.
    pub restart: Restart,
    /// `spec.minReadySeconds`
    pub min_ready_seconds: Seconds,
    /// `status.observedGeneration` is `metadata.generation`.
    pub status_is_current: bool,
    /// `spec.updateStrategy.type`
    pub strategy: Strategy,
    /// `spec.podManagementPolicy`
    pub pod_management: PodManagement,
    /// The update strategy has a `maxUnavailable`, as it has by default since Kubernetes 1.37: with `Parallel` old Pods that
    /// are not available are replaced first.
    pub max_unavailable: bool,
    /// `status.updateRevision`: what a Pod at B carries.
    pub update_revision: String,
}

/// `spec.updateStrategy.type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Pods are replaced in order.
    #[default]
    RollingUpdate,
    /// Pods are replaced when somebody deletes them. A type that is not known counts as this one: what it does to Pods
    /// is its own, and claims follow those that it replaced.
    OnDelete,
    /// All Pods are deleted, then all are made (Kubernetes 1.37, behind a feature gate).
    Recreate,
}

/// `spec.podManagementPolicy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodManagement {
    /// One after the other: what is stuck stops the rest.
    #[default]
    OrderedReady,
    /// All at once: what is stuck stops only itself.
    Parallel,
}

/// A Pod that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PodView {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// The controller among `metadata.ownerReferences`.
    pub controller: Option<Owner>,
    /// `metadata.creationTimestamp`
    pub created: Seconds,
    /// `metadata.deletionTimestamp`: when it is to be gone.
    pub deleted: Option<Seconds>,
    /// The label `controller-revision-hash`.
    pub revision: String,
    /// Since when it has been Ready, if it is and is not being deleted.
    pub ready_since: Option<Seconds>,
    /// What its conditions say, if it is not.
    pub unready: Option<Unready>,
    /// The names of the claims that it mounts.
    pub claims: Vec<String>,
}

/// Why a Pod is not Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    /// Since when.
    pub since: Seconds,
    /// The message of the condition `PodScheduled` or `Ready`.
    pub message: String,
}

/// Another set of the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// Its name.
    pub set: String,
    /// The names of its templates.
    pub templates: Vec<String>,
}

/// An apply that the API server refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The revision that was to be applied.
    pub revision: Revision,
    /// The resourceVersion of the claim that it was decided for. A claim that has changed since is tried at once. Where others
    /// changed what was written, that of the reply.
    pub resource_version: String,
    /// The reason of the API server's status, such as `Forbidden`, or [`Refusal::CHANGED_BY_OTHERS`].
    pub cause: String,
    /// Its message.
    pub message: String,
    /// How many times in a row.
    pub attempts: u32,
    /// When it was refused last.
    pub last: Seconds,
}

impl Refusal {
    /// The longest pause between two attempts.
    pub const MAX_PAUSE: Seconds = 300;

    /// The apply was answered with another claim than the one that was asked for.
    pub const CHANGED_BY_OTHERS: &str = "ChangedByOthers";

    /// True iff others change what is written. That the claim has changed since says nothing about them.
    #[must_use]
    pub fn is_by_others(&self) -> bool {
        self.cause == Self::CHANGED_BY_OTHERS
    }

    /// True iff the claim is what others made of the apply, and nobody has changed it since.
    #[must_use]
    pub fn is_of_reply(&self, claim: &Claim) -> bool {
        self.is_by_others() && self.resource_version == claim.resource_version
    }

    /// See [`retry_at`].
    #[must_use]
    pub fn retry_at(&self, now: Seconds) -> Seconds {
        retry_at(self.attempts, self.last, now)
    }
}

/// When what failed so many times may be tried again: after one second, doubling with each attempt, five minutes at most. At
/// once if the clock was set back since the last one, because nobody can tell how long ago that was.
#[must_use]
pub fn retry_at(attempts: u32, last: Seconds, now: Seconds) -> Seconds {
    if last > now {
        return now;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    last.saturating_add((1 << doublings).min(Refusal::MAX_PAUSE))
}

/// What the ClaimRollout last said: the memory of what was told already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previous {
    /// `status.updateRevision`
    pub revision: Revision,
    /// `status.startedAt`: when this wish was first seen.
    pub started: Option<Seconds>,
    /// `status.claims`, by name: state, reason and message.
    pub claims: BTreeMap<String, (String, String, String)>,
    /// When the wish was first seen, or a claim came to the state that it is in: the last of these times.
    pub moved: Seconds,
    /// The reason of the condition `Ready`.
    pub ready: String,
}

impl Snapshot {
    /// The Pod of the replica: of that name, and controlled by this very set.
    #[must_use]
    pub fn pod_of(&self, ordinal: u32) -> Option<&PodView> {
        let pod = self.pods.get(&format!("{}-{ordinal}", self.set.name))?;
        self.set.controls(pod.controller.as_ref()).then_some(pod)
    }

    /// Why a claim of this name is not the set's: by what is in the claim (see [`foreign`]), because another set gives the
    /// name to a claim, too, or because a Pod of another set mounts it. Pods of Jobs, or of nobody, are no obstacle.
    #[must_use]
    pub fn foreign(
        &self,
        name: &ClaimName,
        claim: &Claim,
        belongs: &Belongs<'_>,
        mounting: &[&PodView],
    ) -> Option<Foreign> {
        let gives_it = |other: &&Sibling| {
            let mut templates = other.templates.iter();
            other.set != self.set.name && templates.any(|template| name.is_also_of(template, &other.set))
        };
        if let Some(other) = self.siblings.iter().find(gives_it) {
            let set = other.set.clone();
            return Some(Foreign::Ambiguous { set });
        }
        let is_anothers = |pod: &&&PodView| {
            let owner = pod.controller.as_ref().filter(|owner| owner.kind == "StatefulSet");
            owner.is_some() && !self.set.controls(owner)
        };
        let mounted = || Some(mounting.iter().find(is_anothers)?.name.clone());
        foreign(claim, belongs).or_else(|| mounted().map(|by| Foreign::Mounted { by }))
    }

    /// When the wish was first seen: now, unless it was reported before.
    #[must_use]
    pub fn first_seen(&self, target: &Revision) -> Seconds {
        let previous = self.previous.as_ref().filter(|previous| previous.revision == *target);
        previous.and_then(|previous| previous.started).unwrap_or(self.now)
    }

    /// A time at which it was wished already, as early as is known: both times are after that.
    #[must_use]
    pub fn desired(&self, target: &Revision) -> Seconds {
        let seen = self.first_seen(target);
        self.staged_at.map_or(seen, |staged| staged.min(seen))
    }
}

impl PodView {
    /// True iff it has been Ready for so many seconds.
    #[must_use]
    pub fn is_available(&self, now: Seconds, min_ready_seconds: Seconds) -> bool {
        self.ready_since
            .is_some_and(|since| min_ready_seconds == 0 || since.saturating_add(min_ready_seconds) <= now)
    }
}

impl SetView {
    /// What the annotations of the StatefulSet of this uid say, but for those that only the controller reads; of all else
    /// nothing.
    #[must_use]
    pub fn annotated<'a>(uid: &str, annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        let staged = annotation(keys::STAGED).map(|text| StagedChange::read(text, uid));
        let policy = |policy: &str| policy.parse().unwrap_or(UpdatePolicy::OnClaimDelete);
        Self {
            uid: uid.to_owned(),
            unreadable: staged.as_ref().and_then(|staged| staged.as_ref().err().cloned()),
            staged: staged.and_then(Result::ok),
            update_policy: annotation(keys::UPDATE_POLICY).map(policy),
            paused: annotation(keys::PAUSED) == Some("true"),
            ready: annotation(keys::READY).and_then(|ready| ready.parse().ok()),
            sync: annotation(keys::SYNC).map_or(Sync::LockStep, |sync| sync.parse().unwrap_or(Sync::LockStep)),
            ..Self::default()
        }
    }

    /// How many claims the set has of these templates, or replicas without any, if that is more than
    /// [`MOST_CLAIMS`].
    #[must_use]
    pub fn too_many_claims(&self, templates: &[ClaimTemplate]) -> Option<u64> {
        let each = u64::try_from(templates.len()).unwrap_or(u64::MAX).max(1);
        let claims = u64::from(self.replicas).saturating_mul(each);
        (claims > MOST_CLAIMS).then_some(claims)
    }

    /// The templates that are wished: what is staged, else the live ones.
    #[must_use]
    pub fn wanted(&self) -> &[ClaimTemplate] {
        self.staged.as_ref().map_or(&self.live, |change| &change.templates)
    }

    /// The ordinals in range, highest first.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> + use<> {
        (self.first_ordinal..self.first_ordinal.saturating_add(self.replicas)).rev()
    }

    /// True iff the ordinal is in range.
    #[must_use]
    pub fn has(&self, ordinal: u32) -> bool {
        ordinal >= self.first_ordinal && self.index(ordinal) < self.replicas
    }

    /// The place of a replica among the others: partitions count these, not ordinals.
    #[must_use]
    pub fn index(&self, ordinal: u32) -> u32 {
        ordinal.saturating_sub(self.first_ordinal)
    }

    /// True iff the partition keeps the replica as it is. Only rolling updates have one.
    #[must_use]
    pub fn is_below_partition(&self, ordinal: u32) -> bool {
        self.strategy == Strategy::RollingUpdate && self.index(ordinal) < self.partition
    }

    /// True iff no partition keeps any replica as it is, not even one that is yet to come.
    #[must_use]
    pub fn reaches_all(&self) -> bool {
        self.strategy != Strategy::RollingUpdate || self.partition == 0
    }

    /// `spec.selector.matchLabels`, as `(key, value)`.
    #[must_use]
    pub fn selector(&self) -> Vec<(&str, &str)> {
        let labels = self.match_labels.iter();
        labels.map(|(key, value)| (&**key, &**value)).collect()
    }

    /// True iff the owner is this set: by uid, so that one of the same name that came later is another.
    #[must_use]
    pub fn controls(&self, owner: Option<&Owner>) -> bool {
        owner.is_some_and(|owner| owner.uid == self.uid)
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
