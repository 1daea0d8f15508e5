//! What a policy asks its host, with the names that Kubewarden gives it.

use std::collections::BTreeSet;

use serde::Deserialize;

/// A kind of resource: an entry of `contextAwareResources`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// The payload of `kubernetes/get_resource`.
#[derive(Debug, Deserialize)]
pub(crate) struct GetResource {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(super) disable_cache: bool,
    pub(super) field_masks: Option<BTreeSet<String>>,
}

/// The payload of `kubernetes/can_i`.
#[derive(Debug, Deserialize)]
pub(crate) struct CanI {
    pub(crate) subject_access_review: Subject,
    pub(super) disable_cache: bool,
}

/// The user and the action.
#[derive(Debug, Deserialize)]
pub(crate) struct Subject {
    pub(crate) user: String,
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) resource_attributes: Attributes,
}

/// The action.
#[derive(Debug, Deserialize)]
pub(crate) struct Attributes {
    pub(crate) group: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    pub(crate) subresource: Option<String>,
    pub(crate) verb: String,
    pub(crate) version: Option<String>,
}
