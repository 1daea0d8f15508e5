//! The facts about an installation that the checks read.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::admission::{InstalledWebhook, Probe};
use super::agreement::{self, PlacedSettings};
use super::deployed::Deployed;
use super::guard::GuardPolicy;
use super::rights::{Account, PolicyServer, RbacRight};
use crate::api::settings::Authority;
use crate::claims::Manager;
use crate::claims::class::Known;
use crate::cli::drift::find::DriftSet;
use crate::cli::lists::SkippedObject;
use crate::cli::status::rollout::Rollout;
use crate::replace::FINALIZER;

/// The facts about an installation.
#[derive(Clone, Debug)]
pub(crate) struct InstallationFacts {
    pub(crate) now: Timestamp,
    /// The namespace of the installation.
    pub(crate) namespace: String,
    /// The stored definition of ClaimRollout.
    pub(crate) definition: Known<Value>,
    /// The version of the API server, such as `v1.37.1`.
    pub(crate) version: String,
    /// The definition of this program.
    pub(crate) own_definition: Value,
    /// The answer to a StatefulSet that the policy denies.
    pub(crate) probe: Probe,
    /// The webhooks that call claim-rollout.
    pub(crate) webhooks: Known<Vec<InstalledWebhook>>,
    /// The policies of the guard.
    pub(crate) guard: Known<Vec<GuardPolicy>>,
    /// The rights that accounts need and do not have.
    pub(crate) lacking: Vec<(Account, Vec<RbacRight>)>,
    /// The Lease of the controller.
    pub(crate) lease: Known<LeaseSpec>,
    /// StorageClasses, and whether they allow expansion.
    pub(crate) classes: BTreeMap<String, bool>,
    pub(crate) sets: Vec<DriftSet>,
    pub(crate) rollouts: Vec<Rollout>,
    /// Sets that are being replaced, with the time of the last step that they show.
    pub(crate) marked: Vec<SetInReplacement>,
    /// The journals of replacements.
    pub(crate) journals: Vec<FoundJournal>,
    pub(crate) deployed: Deployed,
    /// The accounts of policy-servers that run our policy, and the rights that they lack.
    pub(crate) policy_servers: Vec<(PolicyServer, Vec<RbacRight>)>,
    /// The names of our policy objects in monitor mode.
    pub(crate) monitored: Vec<String>,
    /// The settings of the policy objects, and of the ConfigMap as the last.
    pub(crate) settings: Vec<PlacedSettings>,
    /// Kinds that could not be read, and why.
    pub(crate) unread: Vec<(String, String)>,
    /// StatefulSets and PVCs that cannot be read.
    pub(crate) skipped: Vec<SkippedObject>,
}

impl InstallationFacts {
    /// True iff objects of this kind could not be read.
    pub(super) fn is_unread(&self, kind: &str) -> bool {
        self.unread.iter().any(|(what, _)| what == kind)
    }

    /// PVCs of OpenKruise's StatefulSets are updated, and not for everybody who may edit the StatefulSets.
    pub(super) fn guards_openkruise(&self) -> bool {
        let mut settings = agreement::readable(&self.settings);
        self.deployed.openkruise && !settings.any(|settings| settings.authority == Authority::TrustSetEditors)
    }

    /// Gives the settings to the StatefulSets, whose outlook depends on them.
    pub(super) fn share_settings(&mut self) {
        let settings = Arc::new(agreement::readable(&self.settings).next().cloned().unwrap_or_default());
        for seen in &mut self.sets {
            seen.settings = Arc::clone(&settings);
        }
    }
}

/// A set, and the time of a step of its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetInReplacement {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) since: Timestamp,
}

/// A Secret with the label of journals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundJournal {
    /// The name of the Secret.
    pub(crate) secret: String,
    /// The set with the time at which its replacement began, or why the journal cannot be read.
    pub(crate) content: Result<SetInReplacement, String>,
}

impl SetInReplacement {
    /// True iff it is the set of this namespace and name.
    pub(super) fn is(&self, namespace: &str, name: &str) -> bool {
        (&*self.namespace, &*self.name) == (namespace, name)
    }

    /// The set, if it has our finalizer.
    pub(crate) fn marked(metadata: &ObjectMeta) -> Option<Self> {
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        finalizers.iter().find(|finalizer| *finalizer == FINALIZER)?;
        let entries = metadata.managed_fields.iter().flatten();
        let ours = entries.filter(|entry| entry.manager.as_deref() == Some(Manager::OURS));
        let written = ours.filter_map(|entry| entry.time.as_ref());
        let times = [&metadata.creation_timestamp, &metadata.deletion_timestamp];
        let times = times.into_iter().flatten().chain(written).map(|time| time.0);
        Some(Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            since: times.max().unwrap_or_default(),
        })
    }
}
