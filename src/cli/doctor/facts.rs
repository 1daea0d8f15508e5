//! The facts about an installation that the checks read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::admission::{InstalledWebhook, Probe};
use super::guard::GuardPolicy;
use super::rights::{Account, RbacRight};
use crate::claims::class::Known;
use crate::cli::drift::find::DriftSet;

/// The facts about an installation.
#[derive(Clone, Debug)]
pub(crate) struct InstallationFacts {
    pub(crate) now: Timestamp,
    /// The namespace of the installation.
    pub(crate) namespace: String,
    /// The stored definition of ClaimRollout.
    pub(crate) definition: Known<Value>,
    /// The definition as this program prints it.
    pub(crate) own_definition: Value,
    /// The answer to a StatefulSet that the policy denies.
    pub(crate) probe: Probe,
    /// The webhooks that call claim-rollout.
    pub(crate) webhooks: Known<Vec<InstalledWebhook>>,
    /// The policies of the guard.
    pub(crate) guard: Known<Vec<GuardPolicy>>,
    /// The rights that accounts need and do not have.
    pub(crate) lacking: Vec<(Account, Vec<RbacRight>)>,
    pub(crate) lease: Known<Lease>,
    /// StorageClasses, and whether they allow expansion.
    pub(crate) classes: BTreeMap<String, bool>,
    pub(crate) sets: Vec<DriftSet>,
    /// ClaimRollouts that are stalled.
    pub(crate) stalled: Vec<Stalled>,
    /// Kinds that could not be read, and why.
    pub(crate) unread: Vec<(String, String)>,
}

/// The Lease of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Empty if nobody holds the Lease.
    pub(crate) holder: String,
    pub(crate) renewed: Option<Timestamp>,
}

/// A rollout that waits for a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}
