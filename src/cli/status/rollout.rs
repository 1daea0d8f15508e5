//! A ClaimRollout as `status` reads it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::replacement;
use super::set::SeenSet;
use crate::controller::crd::{ClaimRolloutSpec, ClaimRolloutStatus};
use crate::controller::objects::rollout::SlimRollout;
use crate::gate::SetView;
use crate::templates::{ClaimTemplate, RevisionLabel};

/// A ClaimRollout. A newer or older controller may have written it: a part that cannot be read counts as empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "SlimRollout")]
pub(crate) struct Rollout {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ClaimRolloutSpec,
    pub(crate) status: ClaimRolloutStatus,
    /// True iff the controller has written a status that can be read.
    pub(super) is_reported: bool,
}

/// The state of a rollout: its most important condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum RolloutPhase {
    Reconciling,
    Stalled,
    Complete,
}

impl From<SlimRollout> for Rollout {
    fn from(SlimRollout(read): SlimRollout) -> Self {
        Self {
            metadata: read.metadata,
            spec: read.spec,
            is_reported: read.status.is_some(),
            status: read.status.unwrap_or_default(),
        }
    }
}

impl Rollout {
    /// The namespace of the rollout and of its set.
    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// True iff this is the rollout of this set, not of a previous one of the same name.
    pub(crate) fn is_of(&self, set: &SetView) -> bool {
        self.spec.set_ref.api_version == "apps/v1"
            && self.namespace() == set.namespace
            && self.spec.set_ref.uid == set.uid
    }

    /// True iff this is the rollout of this set, also while the set is being replaced: then it has another uid.
    pub(super) fn shows(&self, set: &SeenSet) -> bool {
        let replacing = self.status.replacement.as_ref();
        self.is_of(&set.view)
            || replacing.is_some_and(replacement::is_in_progress)
                && set.is_marked
                && self.namespace() == set.view.namespace
                && self.spec.set_ref.name == set.view.name
    }

    /// True iff this is the rollout of what is staged.
    pub(super) fn is_of_staged(&self, staged: &RevisionLabel) -> bool {
        self.spec.revision == staged.revision.as_str() && self.spec.staging.as_deref() == Some(staged.staging.as_str())
    }

    /// True iff this label is that of updated PVCs. When what was staged is live, nothing is staged any more.
    pub(super) fn is_at(&self, label: &RevisionLabel) -> bool {
        let staging = self.spec.staging.as_deref();
        self.spec.revision == label.revision.as_str() && staging.is_none_or(|staging| staging == label.staging.as_str())
    }

    /// The condition of this type, if it is true.
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        let condition = self.status.condition(kind);
        condition.filter(|condition| condition.status == "True")
    }

    /// True iff the status is that of the present spec.
    pub(super) fn is_seen(&self) -> bool {
        let generation = self.metadata.generation;
        generation.is_none_or(|generation| self.status.observed_generation >= generation)
    }

    /// The state of the rollout.
    pub(super) fn state(&self) -> RolloutPhase {
        if self.condition("Stalled").is_some() {
            RolloutPhase::Stalled
        } else if self.is_seen() && self.condition("Ready").is_some() {
            RolloutPhase::Complete
        } else {
            RolloutPhase::Reconciling
        }
    }

    /// The desired templates, by their names; none if they cannot be read.
    pub(super) fn templates(&self) -> BTreeMap<String, ClaimTemplate> {
        let templates = ClaimTemplate::read_list(&json!(self.spec.templates).to_string());
        let named = templates.into_iter().flatten();
        named.map(|template| (template.name.clone(), template)).collect()
    }
}
