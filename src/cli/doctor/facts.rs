//! What an installation looks like: everything that is judged, and nothing else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::admission::{InstalledWebhook, Probe};
use super::guard::Policy;
use super::rights::{Account, RbacRight};
use crate::claims::class::Known;
use crate::cli::drift::find::Seen;

/// What was seen.
#[derive(Clone, Debug)]
pub(crate) struct InstallationFacts {
    pub(crate) now: Timestamp,
    /// The namespace of the installation.
    pub(crate) namespace: String,
    /// The stored definition of ClaimRollout.
    pub(crate) definition: Known<Value>,
    /// The definition as this program prints it.
    pub(crate) own_definition: Value,
    /// What became of a set that the policy refuses.
    pub(crate) probe: Probe,
    /// The webhooks that lead to claim-rollout.
    pub(crate) webhooks: Known<Vec<InstalledWebhook>>,
    /// The policies of the guard.
    pub(crate) guard: Known<Vec<GuardPolicy>>,
    /// What accounts may not do although they need to.
    pub(crate) lacking: Vec<(Account, Vec<RbacRight>)>,
    pub(crate) lease: Known<Lease>,
    /// StorageClasses, and whether their volumes can grow.
    pub(crate) classes: BTreeMap<String, bool>,
    pub(crate) sets: Vec<ObservedSet>,
    /// ClaimRollouts that are stalled.
    pub(crate) stalled: Vec<Stalled>,
    /// What could not be read, and why.
    pub(crate) unread: Vec<(String, String)>,
}

/// The Lease of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Nobody holds it if this is empty.
    pub(crate) holder: String,
    pub(crate) renewed: Option<Timestamp>,
}

/// A rollout that waits for somebody to do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}
