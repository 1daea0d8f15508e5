//! The configuration of the controller.

use std::collections::BTreeMap;

use super::lease::Election;
use super::write_budget::WriteBudget;
use crate::api::Settings;
use crate::controller::observe::observer::ReCreating;
use crate::controller::places::class_places::ClassLimits;
use crate::controller::registrations::admission::WithoutPolicy;
use crate::templates::MaxInMotion;

/// The configuration of the controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The only namespace whose StatefulSets are rolled out; all namespaces without it.
    pub namespace: Option<String>,
    /// The number of StatefulSets that are reconciled concurrently.
    pub max_concurrent: u16,
    /// The number of replicas of a StatefulSet in motion at a time, unless its annotation specifies it.
    pub max_in_motion: MaxInMotion,
    /// The limits of storage classes, by name. Most classes have none.
    pub class_limits: BTreeMap<String, ClassLimits>,
    /// The settings, the same as those of the policy.
    pub settings: Settings,
    /// Whether to roll out in namespaces for which neither the policy nor the guard is registered.
    pub without_policy: WithoutPolicy,
    /// Whether PVCs are deleted for the update policy `ReCreate`.
    pub recreating: ReCreating,
    /// Whether PVCs of OpenKruise's StatefulSets are updated, for those with the update policy `InPlace`.
    pub openkruise: bool,
    /// The namespace of the journals of replacements; the default one of the client without it.
    pub journals: Option<String>,
    /// Leader election; without it this controller leads.
    pub election: Option<Election>,
    /// The rate limit of writes.
    pub budget: WriteBudget,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            namespace: None,
            max_concurrent: 16,
            max_in_motion: MaxInMotion::default(),
            class_limits: BTreeMap::new(),
            settings: Settings::default(),
            without_policy: WithoutPolicy::default(),
            recreating: ReCreating::default(),
            openkruise: false,
            journals: None,
            election: None,
            budget: WriteBudget::DEFAULT,
        }
    }
}
