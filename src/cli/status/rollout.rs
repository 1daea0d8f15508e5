//! A ClaimRollout as `status` reads it.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::replacement;
use crate::controller::crd::{ClaimRolloutSpec, ClaimRolloutStatus, TemplateText};
use crate::controller::read::metadata;
use crate::templates::{ClaimTemplate, RevisionLabel};

/// A ClaimRollout. A newer or older controller may have written it: a part that cannot be read counts as empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "SentReport")]
pub(crate) struct Rollout {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: ClaimRolloutSpec,
    pub(crate) status: ClaimRolloutStatus,
    /// True iff the controller has written a status.
    pub(super) is_reported: bool,
}

/// A ClaimRollout as the API server sends it.
#[derive(Deserialize)]
struct SentReport {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

/// The state of a rollout: its most important condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum RolloutPhase {
    Reconciling,
    Stalled,
    Complete,
}

impl From<SentReport> for Rollout {
    /// A part of unknown shape gets its defaults.
    fn from(sent: SentReport) -> Self {
        fn read<T: DeserializeOwned + Default>(part: Option<&RawValue>) -> T {
            part.and_then(|part| serde_json::from_str(part.get()).ok())
                .unwrap_or_default()
        }
        Self {
            spec: read(sent.spec.as_deref()),
            is_reported: sent.status.is_some(),
            status: read(sent.status.as_deref()),
            metadata: sent.metadata,
        }
    }
}

impl Rollout {
    /// The namespace of the rollout and of its set.
    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// True iff this is the rollout of this set, not of a previous one of the same name.
    pub(crate) fn is_of(&self, set: &StatefulSet) -> bool {
        self.spec.set_ref.api_version == "apps/v1"
            && self.metadata.namespace == set.metadata.namespace
            && set.metadata.uid.as_ref() == Some(&self.spec.set_ref.uid)
    }

    /// True iff this is the rollout of this set, also while the set is being replaced: then it has another uid.
    pub(super) fn shows(&self, set: &StatefulSet) -> bool {
        let replacing = self.status.replacement.as_ref();
        self.is_of(set)
            || replacing.is_some_and(replacement::is_in_progress)
                && replacement::is_marked(set)
                && self.metadata.namespace == set.metadata.namespace
                && set.metadata.name.as_ref() == Some(&self.spec.set_ref.name)
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
    pub(super) fn condition(&self, kind: &str) -> Option<&Condition> {
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
        let texts: Vec<&str> = self.spec.templates.iter().map(TemplateText::as_str).collect();
        let templates = ClaimTemplate::read_list(&format!("[{}]", texts.join(",")));
        let named = templates.into_iter().flatten();
        named.map(|template| (template.name.clone(), template)).collect()
    }
}
