//! The StatefulSet, as the decision sees it.

use super::idle::MOST_CLAIMS;
use crate::api::Seconds;
#[cfg(any(test, not(target_family = "wasm")))]
use crate::api::SetVersion;
use crate::claims::Owner;
use crate::json::Map;
use crate::templates::names::ordinal_of;
use crate::templates::{
    ClaimTemplate, HELD, MaxInMotion, Phase, ProgressDeadline, Ready, ReplaceSet, Restart, StagedChange, StagedError,
    Strategy, Sync, UpdatePolicy, keys,
};

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
    /// True iff the templates can change, as those of OpenKruise: the live ones are the desired ones, and nothing is
    /// written to the set. `staged` then has the live templates, if they are rolled out.
    pub templates_can_change: bool,
    /// The field of OpenKruise with which nothing is rolled out, and what to do.
    pub not_supported: Option<&'static str>,
    /// The staged change, if the annotation is valid.
    pub staged: Option<StagedChange>,
    /// Why the annotation with the staged change is invalid.
    pub unreadable: Option<StagedError>,
    /// The annotation `claim-rollout.io/update-policy`. An unknown value counts as `OnClaimDelete`: without a valid
    /// value nothing is written.
    pub update_policy: Option<UpdatePolicy>,
    /// The annotation `claim-rollout.io/replace-set`. An unknown value is ignored.
    pub replace_set: Option<ReplaceSet>,
    /// The annotation `claim-rollout.io/paused`.
    pub paused: bool,
    /// `spec.updateStrategy.rollingUpdate.partition`
    pub partition: u32,
    /// The annotation `claim-rollout.io/ready`.
    pub ready: Option<Ready>,
    /// The annotation `ready` is [`HELD`]: the staging is older than the policy and the guard.
    pub is_held: bool,
    /// The annotation `claim-rollout.io/sync`. An unknown value counts as `LockStep`, which waits.
    pub sync: Sync,
    /// The annotation `claim-rollout.io/progress-deadline`. An unknown value is ignored.
    pub progress_deadline: ProgressDeadline,
    /// The annotation `claim-rollout.io/max-in-motion`, else the flag of the controller. An unknown value is ignored.
    pub max_in_motion: Option<MaxInMotion>,
    /// The annotation `claim-rollout.io/restart`. An unknown value counts as `Never`.
    pub restart: Restart,
    /// The annotation `claim-rollout.io/recreate-snapshot`: a VolumeSnapshotClass.
    pub recreate_snapshot: Option<String>,
    /// The annotation `claim-rollout.io/staged-at`.
    pub staged_at: StagedAt,
    /// `spec.minReadySeconds`
    pub min_ready_seconds: Seconds,
    /// True iff `status.observedGeneration` is `metadata.generation`.
    pub status_is_current: bool,
    /// `spec.updateStrategy.type`
    pub strategy: Strategy,
    /// `spec.podManagementPolicy`
    pub pod_management: PodManagement,
    /// True iff the update strategy has a `maxUnavailable`, which is the default since Kubernetes 1.37. With
    /// `Parallel`, outdated Pods that are not available are then replaced first.
    pub max_unavailable: bool,
    /// `status.updateRevision`: the revision of updated Pods.
    pub update_revision: String,
}

/// The annotation `claim-rollout.io/staged-at`: when the controller first saw this staging, or the one that it only grows.
/// PVCs that were created before may be deleted under `ReCreate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StagedAt {
    /// The controller has not written it.
    #[default]
    Absent,
    /// This time.
    At(Seconds),
    /// It is no time. Nothing is deleted, and nothing overwrites it.
    Unreadable,
}

/// `spec.podManagementPolicy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodManagement {
    /// One after the other: a replica that is stuck stops the rest.
    #[default]
    OrderedReady,
    /// All at once: a replica that is stuck stops no other.
    Parallel,
}

impl SetView {
    /// A view of the annotations alone, without those that only the controller reads. `uid` is that of the StatefulSet.
    #[must_use]
    pub fn annotated<'a>(uid: &str, annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        let staged = annotation(keys::STAGED).map(|text| StagedChange::read(text, uid));
        let policy = |policy: &str| policy.parse().unwrap_or(UpdatePolicy::OnClaimDelete);
        Self {
            uid: uid.to_owned(),
            unreadable: staged.as_ref().and_then(|staged| staged.as_ref().err().cloned()),
            staged: staged.and_then(Result::ok),
            update_policy: annotation(keys::UPDATE_POLICY).map(policy),
            replace_set: annotation(keys::REPLACE_SET).and_then(|text| text.parse().ok()),
            paused: annotation(keys::PAUSED) == Some("true"),
            ready: annotation(keys::READY).and_then(|ready| ready.parse().ok()),
            is_held: annotation(keys::READY) == Some(HELD),
            sync: annotation(keys::SYNC).map_or(Sync::LockStep, |sync| sync.parse().unwrap_or(Sync::LockStep)),
            ..Self::default()
        }
    }

    /// The number of claims that the set has of these templates, or of replicas if there are no templates, if it is
    /// more than [`MOST_CLAIMS`].
    #[must_use]
    pub fn too_many_claims(&self, templates: &[ClaimTemplate]) -> Option<u64> {
        let each = u64::try_from(templates.len()).unwrap_or(u64::MAX).max(1);
        let staged = self.staged.as_ref().map_or(0, |change| change.replicas);
        let claims = u64::from(self.replicas.max(staged)).saturating_mul(each);
        (claims > MOST_CLAIMS).then_some(claims)
    }

    /// The desired template and the ordinal of the claim of this name; `None` if the set has no such replica.
    #[must_use]
    pub fn place_of(&self, claim: &str) -> Option<(&ClaimTemplate, u32)> {
        self.wanted().iter().find_map(|template| {
            let ordinal = ordinal_of(claim, &template.name, &self.name).filter(|ordinal| self.has(*ordinal))?;
            Some((template, ordinal))
        })
    }

    /// The desired templates: the staged ones, else the live ones.
    #[must_use]
    pub fn wanted(&self) -> &[ClaimTemplate] {
        self.staged.as_ref().map_or(&self.live, |change| &change.templates)
    }

    /// The first staged template that is not live yet, if there is one. Until the set is replaced, a Pod that mounts its
    /// volume cannot be created.
    #[must_use]
    pub fn added_template(&self) -> Option<&str> {
        let mut staged = self.staged.iter().flat_map(|change| &change.templates);
        let added = staged.find(|staged| !self.has_live(&staged.name))?;
        Some(&added.name)
    }

    /// True iff Pods may be replaced during the rollout. While a template is to be added, the gate keeps them.
    #[must_use]
    pub fn replaces_pods(&self) -> bool {
        self.added_template().is_none()
    }

    /// True iff a live template has this name.
    #[must_use]
    pub fn has_live(&self, template: &str) -> bool {
        self.live.iter().any(|live| live.name == template)
    }

    /// The ordinals in range, highest first.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> + use<> {
        (self.first_ordinal..self.first_ordinal.saturating_add(self.replicas)).rev()
    }

    /// The ordinals that were in range when the change was staged and that were scaled away since, highest first. There
    /// are none after the rollout.
    pub fn scaled_away(&self) -> impl Iterator<Item = u32> + use<> {
        let change = self.staged.as_ref();
        let staged = change.filter(|change| change.phase == Phase::RollingOut);
        let staged = staged.map_or(0, |change| change.replicas);
        let [first, end] = [self.replicas, staged].map(|count| self.first_ordinal.saturating_add(count));
        (first..end).rev()
    }

    /// The name of the Pod of a replica.
    #[must_use]
    pub fn pod_name(&self, ordinal: u32) -> String {
        format!("{}-{ordinal}", self.name)
    }

    /// True iff the ordinal is in range.
    #[must_use]
    pub fn has(&self, ordinal: u32) -> bool {
        ordinal >= self.first_ordinal && self.index(ordinal) < self.replicas
    }

    /// The index of a replica. Partitions count indexes, not ordinals.
    #[must_use]
    pub fn index(&self, ordinal: u32) -> u32 {
        ordinal.saturating_sub(self.first_ordinal)
    }

    /// True iff the replica is below the partition. Only rolling updates have a partition.
    #[must_use]
    pub fn is_below_partition(&self, ordinal: u32) -> bool {
        self.strategy == Strategy::RollingUpdate && self.index(ordinal) < self.partition
    }

    /// True iff no replica is below a partition, not even a future one.
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

    /// The version of the set that was read.
    #[cfg(any(test, not(target_family = "wasm")))]
    #[must_use]
    pub fn version(&self) -> SetVersion {
        SetVersion {
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
        }
    }

    /// True iff the owner is this set: by uid, because a set that was created again has the same name.
    #[must_use]
    pub fn controls(&self, owner: Option<&Owner>) -> bool {
        owner.is_some_and(|owner| owner.uid == self.uid)
    }
}
