//! The inputs of a plan.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::request::Requester;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;
use crate::rollout::Seconds;

/// The request and the state of the cluster.
pub(crate) struct Inputs<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The source and the content of the manifest; none to plan the set as it is.
    pub(crate) manifest: Option<(&'a str, &'a Value)>,
    pub(crate) state: &'a Recorded,
    pub(crate) requester: &'a Requester,
    /// The valid settings of the policy.
    pub(crate) settings: &'a RawValue,
    /// The limits of storage classes.
    pub(crate) limits: &'a BTreeMap<String, ClassLimits>,
    pub(crate) now: Seconds,
}
