//! What the tests know of an operator.

use serde_json::Value;

/// An operator, and the object `web` from which it makes a StatefulSet.
pub(super) struct Known {
    /// Its folder in `engines/`.
    pub(super) engine: &'static str,
    pub(super) program: &'static str,
    /// Its environment, and its flags.
    pub(super) environment: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    /// The namespace of its account. The audit log has all writes of accounts in this namespace.
    pub(super) namespace: &'static str,
    pub(super) account: &'static str,
    /// The name of its ClusterRole, and a JSON patch of it.
    pub(super) cluster_role: &'static str,
    pub(super) less: Option<&'static str>,
    /// The name of its Role in its own namespace.
    pub(super) role: Option<&'static str>,
    /// Group, version, kind and resource of its objects.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) resource: &'static str,
    /// The spec with this size.
    pub(super) spec: fn(&str) -> Value,
    /// Whether the operator has nothing left to do for the object.
    pub(super) is_done: fn(&Value) -> bool,
    /// The StatefulSet of the object `web`, and its replicas.
    pub(super) set: &'static str,
    pub(super) replicas: usize,
    /// An annotation that the operator removes from a new StatefulSet after it has run a command in a Pod.
    pub(super) command: Option<&'static str>,
}

impl Known {
    /// The user name of the operator.
    pub(super) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }

    /// The kind as the setting `stageOwnedBy` names it.
    pub(super) fn owner(&self) -> String {
        format!("{}/{}", self.group, self.kind)
    }

    /// The flag of `kubectl create rolebinding`.
    pub(super) fn subject(&self) -> String {
        format!("--serviceaccount={}:{}", self.namespace, self.account)
    }
}
