//! The input of the decision: small types that the shell fills from the cluster.

use super::budget::Budgets;
use super::milestones::Milestones;
use super::volume_snapshot::ReCreateAnswers;
use crate::api::reasons::Kind;
use crate::api::{ReadyReason, Seconds, Settings};
pub use crate::claims::progress::{Modify, Resize, Trouble};
use crate::claims::quota::Quotas;
use crate::claims::{Belongs, Claim, Foreign, Owner, foreign};
use crate::gate::{Idle, SetView, readiness};
use crate::templates::{ClaimName, Revision, RevisionLabel, Staging};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that was read about one StatefulSet at one time.
///
/// The parts may be of different ages. This is harmless, because every write carries the uid and the resourceVersion of
/// the object that it was decided for (S9).
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The current time.
    pub now: Seconds,
    /// The settings, against which a staged change is checked again.
    pub settings: Arc<Settings>,
    /// Why the controller does nothing although there is a rollout: [`Idle::PolicyMissing`],
    /// [`Idle::StagedBeforePolicy`] or [`Idle::WriteUndone`].
    pub halted: Option<Idle>,
    /// Why the last write to the set was denied, and when to retry it.
    pub write_refused: Option<(String, Seconds)>,
    /// Why the last eviction of a Pod was denied, and when to retry it.
    pub not_evicted: Option<(String, Seconds)>,
    /// What was read for the update policy `ReCreate`.
    pub recreate: ReCreateAnswers,
    /// The latest time at which the change can have been staged, by the clock of the API server; `None` if unknown. Only
    /// the update strategy `OnDelete` asks for it: no PVC is deleted because of it.
    pub staged_before: Option<Seconds>,
    /// The set.
    pub set: SetView,
    /// Claims of the namespace that may belong to the set, by name.
    pub claims: BTreeMap<String, Claim>,
    /// Pods of the namespace that belong to the set or mount one of its claims, by name.
    pub pods: BTreeMap<String, PodView>,
    /// Other sets of the namespace whose claims could have the same names.
    pub siblings: Vec<Sibling>,
    /// Previous writes to claims that failed, by the uid of the claim.
    pub refusals: BTreeMap<String, Refusal>,
    /// The quotas of the namespace.
    pub quotas: Quotas,
    /// The budgets of the storage classes of the claims.
    pub budgets: Budgets,
    /// The last report.
    pub previous: Option<Previous>,
    /// What the rollout had reached when it was last reported by this controller.
    pub milestones: Milestones,
    /// The last Event about each PVC that has been in motion for long, by uid.
    pub claim_events: BTreeMap<String, String>,
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
    /// `metadata.deletionTimestamp`: when the Pod is to be terminated at the latest.
    pub deleted: Option<Seconds>,
    /// The label `controller-revision-hash`.
    pub revision: String,
    /// Since when the Pod has been Ready; `None` if it is not Ready, or is being deleted.
    pub ready_since: Option<Seconds>,
    /// Why the Pod is not Ready, by its conditions.
    pub unready: Option<Unready>,
    /// The names of the claims that the Pod mounts.
    pub claims: Vec<String>,
    /// The names of the volumes of these claims.
    pub volumes: Vec<String>,
}

/// Why a Pod is not Ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    /// Since when the Pod has not been Ready.
    pub since: Seconds,
    /// The message of the condition `PodScheduled` or `Ready`.
    pub message: String,
}

/// Another StatefulSet of the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The name of the StatefulSet.
    pub set: String,
    /// The names of its volumeClaimTemplates.
    pub templates: Vec<String>,
}

/// An apply that failed: the API server denied it, or stored something else. A model has other labels, versions and
/// causes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal<L = RevisionLabel, V = String, C = String> {
    /// The label that was applied.
    pub label: L,
    /// The resourceVersion of the claim that the apply was decided for: a claim that has changed since is retried at
    /// once. If others changed the apply, the resourceVersion of the reply.
    pub resource_version: V,
    /// The reason of the API server's status, such as `Forbidden`, or [`CHANGED_BY_OTHERS`](readiness::CHANGED_BY_OTHERS).
    pub cause: C,
    /// The message of the API server.
    pub message: String,
    /// The number of failures in a row.
    pub attempts: u32,
    /// When the apply failed last.
    pub last: Seconds,
}

impl Refusal {
    /// The longest pause between two attempts.
    pub const MAX_PAUSE: Seconds = 300;

    /// After this many failed reconciles in a row, which take a minute, a write without an answer counts as denied.
    pub const UNANSWERED: u8 = 6;

    /// The cause of such a denial.
    pub const NOT_ANSWERED: &str = "NotAnswered";

    /// True iff others change the apply. They do so again, even if the claim has changed since.
    #[must_use]
    pub fn is_by_others(&self) -> bool {
        self.cause == readiness::CHANGED_BY_OTHERS
    }

    /// True iff the claim is as others stored it, and nobody has changed it since.
    #[must_use]
    pub fn is_of_reply(&self, claim: &Claim) -> bool {
        self.is_by_others() && self.resource_version == claim.resource_version
    }
}

impl<L, V, C> Refusal<L, V, C> {
    /// See [`retry_at`].
    #[must_use]
    pub fn retry_at(&self, now: Seconds) -> Seconds {
        retry_at(self.attempts, self.last, now)
    }
}

/// When to retry after this number of failed attempts: after one second, doubling with each attempt, at most five
/// minutes. Now, if the clock was set back since the last attempt, because it is unknown how long ago that was.
#[must_use]
pub fn retry_at(attempts: u32, last: Seconds, now: Seconds) -> Seconds {
    if last > now {
        return now;
    }
    let doublings = attempts.saturating_sub(1).min(16);
    last.saturating_add((1 << doublings).min(Refusal::MAX_PAUSE))
}

/// The last report in the ClaimRollout: the memory of which Events were emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previous {
    /// `status.updateRevision`
    pub revision: Revision,
    /// `status.staging`
    pub staging: Option<Staging>,
    /// `status.startedAt`: when this target was first seen.
    pub started: Option<Seconds>,
    /// `status.claims`, by name: state, reason and message.
    pub claims: BTreeMap<String, (String, String, String)>,
    /// When the rollout last reached something new; none if nothing was rolled out.
    pub moved: Option<Seconds>,
    /// The reason of the condition `Ready`.
    pub ready: String,
}

impl Previous {
    /// True iff no progress was expected when this was reported.
    #[must_use]
    pub fn waited(&self) -> bool {
        let waited = |reason: ReadyReason| reason.kind() == Kind::Waiting;
        self.moved.is_none() || ReadyReason::read(&self.ready).is_some_and(waited)
    }
}

impl Snapshot {
    /// The Pod of the replica: the Pod of that name, if this set controls it.
    #[must_use]
    pub fn pod_of(&self, ordinal: u32) -> Option<&PodView> {
        let pod = self.pods.get(&self.set.pod_name(ordinal))?;
        self.set.controls(pod.controller.as_ref()).then_some(pod)
    }

    /// Why the claim does not belong to the set: by the claim itself (see [`foreign`]), because another set has a claim
    /// of the same name, or because a Pod of another set mounts it. Pods of Jobs and Pods without a controller do not
    /// matter.
    #[must_use]
    pub fn foreign(
        &self,
        name: &ClaimName,
        claim: &Claim,
        belongs: &Belongs<'_>,
        mounting: &[&PodView],
    ) -> Option<Foreign> {
        let has_same_name = |other: &&Sibling| {
            let mut templates = other.templates.iter();
            other.set != self.set.name && templates.any(|template| name.is_also_of(template, &other.set))
        };
        if let Some(other) = self.siblings.iter().find(has_same_name) {
            let set = other.set.clone();
            return Some(Foreign::Ambiguous { set });
        }
        let is_of_another_set = |pod: &&&PodView| {
            let owner = pod.controller.as_ref().filter(|owner| owner.kind == "StatefulSet");
            owner.is_some() && !self.set.controls(owner)
        };
        let mounted = || Some(mounting.iter().find(is_of_another_set)?.name.clone());
        foreign(claim, belongs).or_else(|| mounted().map(|by| Foreign::Mounted { by }))
    }

    /// The last report, if it was about this target and the present staging of it. When what was staged is live,
    /// nothing is staged any more.
    #[must_use]
    pub fn reported(&self, target: &Revision) -> Option<&Previous> {
        let staged = self.set.staged.as_ref();
        let is_same = |previous: &&Previous| {
            previous.revision == *target
                && staged.is_none_or(|change| previous.staging.as_ref() == Some(&change.staging))
        };
        self.previous.as_ref().filter(is_same)
    }

    /// When the target was first seen: now, unless it was reported before.
    #[must_use]
    pub fn first_seen(&self, target: &Revision) -> Seconds {
        let previous = self.reported(target);
        previous.and_then(|previous| previous.started).unwrap_or(self.now)
    }

    /// The earliest known time at which the target was already desired: staging comes before both times.
    #[must_use]
    pub fn desired(&self, target: &Revision) -> Seconds {
        let seen = self.first_seen(target);
        self.staged_before.map_or(seen, |staged| staged.min(seen))
    }
}

impl PodView {
    /// True iff the Pod has been Ready for this number of seconds.
    #[must_use]
    pub fn is_available(&self, now: Seconds, min_ready_seconds: Seconds) -> bool {
        self.ready_since
            .is_some_and(|since| min_ready_seconds == 0 || since.saturating_add(min_ready_seconds) <= now)
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
