//! The inputs of a plan.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::request::RequestAnswer;
use crate::api::Seconds;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;

/// The request and the state of the cluster.
pub(crate) struct Inputs<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// None to plan the set as it is.
    pub(crate) asked: Option<PlannedRequest<'a>>,
    pub(crate) state: &'a Recorded,
    /// The field manager of the request.
    pub(crate) manager: &'a str,
    /// The valid settings of the policy.
    pub(crate) settings: &'a RawValue,
    /// The limits of storage classes.
    pub(crate) limits: &'a BTreeMap<String, ClassLimits>,
    pub(crate) now: Seconds,
}

/// A request that is planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedRequest<'a> {
    /// Where the manifest comes from.
    pub(crate) source: &'a str,
    pub(crate) manifest: &'a Value,
    pub(crate) decider: &'a Decider,
}

/// Who answers a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decider {
    /// The API server answered it, in a dry run.
    Server(RequestAnswer),
    /// The policy's decision is made here, for this reason.
    Here(String),
}
