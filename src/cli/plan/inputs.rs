//! What a plan is made of.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::request::Requester;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;
use crate::rollout::Seconds;

/// What is asked, and what is there.
pub(crate) struct Inputs<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// Where the manifest came from, and what it says; without one the set is planned as it is.
    pub(crate) manifest: Option<(&'a str, &'a Value)>,
    /// The cluster.
    pub(crate) state: &'a Recorded,
    pub(crate) requester: &'a Requester,
    /// The settings of the policy, valid ones.
    pub(crate) settings: &'a RawValue,
    /// What storage classes allow.
    pub(crate) limits: &'a BTreeMap<String, ClassLimits>,
    /// The time.
    pub(crate) now: Seconds,
}
