//! The inputs of a plan.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::request::RequestAnswer;
use crate::api::Seconds;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;

/// A set to plan.
pub(crate) struct PlanTarget {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Where the manifest comes from, and the manifest; none to plan the set as it is.
    pub(crate) manifest: Option<(String, Value)>,
}

/// The request and the state of the cluster.
pub(crate) struct Inputs<'a> {
    pub(crate) target: &'a PlanTarget,
    /// Who answers the request, if there is a manifest.
    pub(crate) decider: &'a Decider,
    pub(crate) state: &'a Recorded,
    /// The field manager of the request.
    pub(crate) manager: &'a str,
    /// The valid settings of the policy.
    pub(crate) settings: &'a RawValue,
    /// The limits of storage classes.
    pub(crate) limits: &'a BTreeMap<String, ClassLimits>,
    pub(crate) now: Seconds,
}

/// Who answers a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decider {
    /// The API server answered it, in a dry run.
    Server(RequestAnswer),
    /// The policy's decision is made here, for this reason.
    Here(String),
}
