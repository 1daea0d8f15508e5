//! A row: a request, and what denies it.

use serde_json::{Value, json};

/// A request, and the policy and validation that deny it.
pub(super) struct GuardRow {
    pub(super) what: String,
    pub(super) request: Value,
    pub(super) old: Value,
    pub(super) object: Value,
    /// The ClaimRollouts of the namespace.
    pub(super) rollouts: Vec<Value>,
    pub(super) expected: Option<String>,
}

/// The request of a user.
pub(super) fn request(user: &str, operation: &str, subresource: &str, resource: (&str, &str)) -> Value {
    json!({
        "resource": {"group": resource.0, "version": "v1", "resource": resource.1}, "subResource": subresource,
        "namespace": "shop", "operation": operation, "options": {}, "userInfo": {"username": user},
    })
}

pub(super) const SETS: (&str, &str) = ("apps", "statefulsets");
