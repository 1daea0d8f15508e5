//! Checks whether the policy or the guard is registered for a namespace, so that not every user can stage a change.
//!
//! One of them is enough: the policy as a webhook for updates of StatefulSets, or the guard, a
//! ValidatingAdmissionPolicy. Only administrators can register them, so their names can be trusted. Tenants can register
//! AdmissionPolicies of Kubewarden, so these never count.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::core::{Selector, SelectorExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::kubewarden::{WebhookPolicy, policy_of};
use crate::api::difference::differences;
use crate::api::{Seconds, Settings};
use crate::controller::objects::set_kind::SetKind;
use crate::controller::read::metadata::time;

/// The part that the names of our objects contain.
const OURS: &str = "claim-rollout";
/// The label of a policy of the guard, whose name differs in a release with `fullnameOverride`.
const PART: &str = "claim-rollout.io/guard";
/// The policy of the guard that checks who may stage a change.
const STAGED: &str = "staged";
/// The policy of the guard that checks who may have PVCs of OpenKruise's StatefulSets updated.
const OPENKRUISE: &str = "openkruise";
/// The policy of the guard that denies the deletion of a StatefulSet that is being replaced.
const REPLACING: &str = "replacing";

/// The labels of a namespace.
pub(crate) type Labels = BTreeMap<String, String>;

/// The registered objects that may be ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registered {
    pub(crate) configurations: Vec<Configuration>,
    pub(crate) guards: Vec<RegisteredGuardPolicy>,
    pub(crate) bindings: Vec<Binding>,
    /// The policy objects of Kubewarden for the whole cluster.
    pub(crate) policies: Vec<KubewardenPolicy>,
}

/// The metadata that is read of a registered object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RegisteredMetadata {
    name: String,
    namespace: Option<String>,
    labels: Option<Labels>,
    #[serde(deserialize_with = "time")]
    creation_timestamp: Option<Time>,
}

/// A MutatingWebhookConfiguration. A validating one does not count, because it cannot put the live templates back.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Configuration {
    metadata: RegisteredMetadata,
    #[serde(default)]
    webhooks: Vec<MutatingWebhook>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MutatingWebhook {
    name: String,
    rules: Vec<AdmissionRule>,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AdmissionRule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
    operations: Vec<String>,
    scope: String,
}

/// A ValidatingAdmissionPolicy.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RegisteredGuardPolicy {
    metadata: RegisteredMetadata,
    #[serde(default)]
    spec: GuardSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GuardSpec {
    failure_policy: String,
    match_constraints: MatchScope,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Binding {
    metadata: RegisteredMetadata,
    #[serde(default)]
    spec: BindingSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BindingSpec {
    policy_name: String,
    validation_actions: Vec<String>,
    match_resources: MatchScope,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MatchScope {
    resource_rules: Vec<AdmissionRule>,
    exclude_resource_rules: Vec<AdmissionRule>,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
}

/// A ClusterAdmissionPolicy of Kubewarden.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct KubewardenPolicy {
    metadata: RegisteredMetadata,
    #[serde(default)]
    spec: PolicySpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PolicySpec {
    module: String,
    mutating: bool,
    rules: Vec<AdmissionRule>,
    namespace_selector: LabelSelector,
    /// The unparsed JSON, for our own parser.
    settings: Option<Box<RawValue>>,
}

impl Registered {
    /// Since when the policy or the guard has checked every update of a StatefulSet of this kind in a namespace with
    /// these labels; none if neither does.
    ///
    /// It is the time of the oldest object that is there now, so an upgrade that creates some of them anew changes
    /// nothing. A policy of the guard counts from the time of its first binding.
    #[must_use]
    pub(super) fn judges_since(&self, kind: SetKind, namespace: &Labels) -> Option<Seconds> {
        let part = match kind {
            SetKind::Apps => STAGED,
            SetKind::OpenKruise => OPENKRUISE,
        };
        let judging = self.configurations.iter().filter(|configuration| {
            let mut webhooks = configuration.webhooks.iter();
            webhooks.any(|webhook| self.is_ours(webhook) && webhook.judges(kind, namespace))
        });
        let webhooks = judging.map(|configuration| created(&configuration.metadata));
        let guards = self.guards.iter();
        let guards = guards.filter_map(|guard| self.guards_since(guard, (part, kind, &["UPDATE"]), namespace));
        webhooks.chain(guards).min()
    }

    /// True iff the guard keeps a StatefulSet that is being replaced, and its finalizer.
    #[must_use]
    pub(super) fn keeps_replaced(&self, namespace: &Labels) -> bool {
        let mut guards = self.guards.iter();
        let denied = ["UPDATE", "DELETE"];
        guards.any(|guard| {
            let since = self.guards_since(guard, (REPLACING, SetKind::Apps, &denied), namespace);
            since.is_some()
        })
    }

    fn is_ours(&self, webhook: &MutatingWebhook) -> bool {
        let named_as_ours = webhook.name.split('.').next().is_some_and(|first| first.contains(OURS));
        match policy_of(&webhook.name) {
            Some(WebhookPolicy::OfNamespace) => false,
            Some(WebhookPolicy::OfCluster(name)) => {
                let mut policies = self.policies.iter().filter(|policy| policy.is_ours());
                named_as_ours || policies.any(|policy| policy.metadata.name == name)
            }
            None => named_as_ours,
        }
    }

    /// Since when the policy has been bound, if it is this part of the guard, and judges these operations on every
    /// StatefulSet of the kind.
    fn guards_since(
        &self,
        guard: &RegisteredGuardPolicy,
        (part, kind, operations): (&str, SetKind, &[&str]),
        namespace: &Labels,
    ) -> Option<Seconds> {
        let name = &*guard.metadata.name;
        let labelled = guard.metadata.labels.as_ref().and_then(|labels| labels.get(PART));
        let is_part = labelled.is_some_and(|label| label == part) || name.starts_with(&format!("{OURS}-{part}"));
        let constraints = &guard.spec.match_constraints;
        let has_rule = |operation: &&str| {
            constraints
                .resource_rules
                .iter()
                .any(|rule| rule.is_of(kind, operation))
        };
        let is_whole = is_part
            && guard.spec.failure_policy != "Ignore"
            && operations.iter().all(has_rule)
            && constraints.exclude_resource_rules.is_empty()
            && constraints.reaches(namespace);
        let binds = |binding: &&Binding| {
            let spec = &binding.spec;
            let scope = &spec.match_resources;
            spec.policy_name == name
                && spec.validation_actions.iter().any(|action| action == "Deny")
                && scope.resource_rules.is_empty()
                && scope.exclude_resource_rules.is_empty()
                && scope.reaches(namespace)
        };
        let bindings = self.bindings.iter().filter(binds);
        let bound = bindings.map(|binding| created(&binding.metadata)).min();
        bound
            .filter(|_| is_whole)
            .map(|bound| bound.max(created(&guard.metadata)))
    }

    /// The differences between the settings of policy objects and ours, a line each. With `namespace`, only objects
    /// for it count.
    #[must_use]
    pub(crate) fn differing(&self, ours: &Settings, namespace: Option<&Labels>) -> Vec<String> {
        let policies = self.policies.iter().filter(|policy| policy.is_ours());
        let policies = policies.filter(|policy| namespace.is_none_or(|labels| policy.reaches(labels)));
        let lines = policies.flat_map(|policy| {
            let name = &policy.metadata.name;
            let text = policy.spec.settings.as_ref().map_or("", |settings| settings.get());
            match Settings::read(text) {
                Ok(theirs) => {
                    let differences = differences(ours, &theirs).into_iter();
                    differences.map(|difference| format!("{name}: {difference}")).collect()
                }
                Err(faults) => vec![format!("{name}: {faults}")],
            }
        });
        lines.collect()
    }
}

impl MutatingWebhook {
    /// A webhook with an object selector does not count: whoever edits the labels of a StatefulSet could avoid it.
    fn judges(&self, kind: SetKind, namespace: &Labels) -> bool {
        self.rules.iter().any(|rule| rule.is_of(kind, "UPDATE"))
            && is_empty(&self.object_selector)
            && selects(&self.namespace_selector, namespace)
    }
}

impl MatchScope {
    fn reaches(&self, namespace: &Labels) -> bool {
        is_empty(&self.object_selector) && selects(&self.namespace_selector, namespace)
    }
}

impl AdmissionRule {
    /// True iff it contains this operation on every StatefulSet of the kind.
    fn is_of(&self, kind: SetKind, operation: &str) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|item| item == word || item == "*");
        let (group, version) = kind.api_version().split_once('/').unwrap_or_default();
        has(&self.api_groups, group)
            && has(&self.api_versions, version)
            && (has(&self.resources, "statefulsets") || has(&self.resources, "*/*"))
            && has(&self.operations, operation)
            && self.resource_names.is_empty()
            && self.scope != "Cluster"
    }
}

impl KubewardenPolicy {
    /// True iff it is the policy object that stages changes.
    fn is_ours(&self) -> bool {
        self.metadata.namespace.is_none()
            && (self.spec.module.contains(OURS) || self.metadata.name.contains(OURS))
            && self.spec.mutating
            && self.spec.rules.iter().any(|rule| rule.is_of(SetKind::Apps, "UPDATE"))
    }

    fn reaches(&self, namespace: &Labels) -> bool {
        selects(&self.spec.namespace_selector, namespace)
    }
}

/// When the API server created the object; it always writes this.
fn created(metadata: &RegisteredMetadata) -> Seconds {
    let created = metadata.creation_timestamp.as_ref();
    created.map_or(Seconds::MAX, |time| {
        u64::try_from(time.0.as_second()).unwrap_or_default()
    })
}

fn is_empty(selector: &LabelSelector) -> bool {
    let no_expressions = selector.match_expressions.as_ref().is_none_or(Vec::is_empty);
    no_expressions && selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
}

/// An invalid selector selects nothing.
fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

#[cfg(test)]
#[path = "registered_tests.rs"]
mod tests;
