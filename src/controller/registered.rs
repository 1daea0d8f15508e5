//! Is there anybody who judges what users write into the annotations of a StatefulSet?
//!
//! Either of two is enough: the policy, which the API server asks about every update of a StatefulSet, or the guard, a
//! ValidatingAdmissionPolicy. Only administrators can register them, so a name says who is meant.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::Resource;
use kube::core::{Selector, SelectorExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::Settings;
use crate::api::difference::differences;

/// What the names of our objects have in common.
const OURS: &str = "claim-rollout";
/// The policy of the guard that asks who may stage a change.
const GUARD: &str = "claim-rollout-staged";

/// The labels of a namespace.
pub(super) type Labels = BTreeMap<String, String>;

/// Everything that is registered in the cluster and may be ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Registered {
    pub(super) configurations: Vec<Configuration>,
    pub(super) guards: Vec<Guard>,
    pub(super) bindings: Vec<Binding>,
    /// The policy objects of Kubewarden, of the cluster and of namespaces.
    pub(super) policies: Vec<Policy>,
}

/// A MutatingWebhookConfiguration. One that validates does not count: it does not put templates back.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "MutatingWebhookConfiguration")]
pub(super) struct Configuration {
    metadata: ObjectMeta,
    #[serde(default)]
    webhooks: Vec<Webhook>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Webhook {
    name: String,
    rules: Vec<Rule>,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
}

/// A ValidatingAdmissionPolicy.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ValidatingAdmissionPolicy")]
pub(super) struct Guard {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: GuardSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GuardSpec {
    match_constraints: Scope,
}

/// A ValidatingAdmissionPolicyBinding.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "ValidatingAdmissionPolicyBinding")]
pub(super) struct Binding {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: BindingSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BindingSpec {
    policy_name: String,
    validation_actions: Vec<String>,
    match_resources: Scope,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Scope {
    resource_rules: Vec<Rule>,
    exclude_resource_rules: Vec<Rule>,
    namespace_selector: LabelSelector,
    object_selector: LabelSelector,
}

/// A ClusterAdmissionPolicy or AdmissionPolicy of Kubewarden.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Policy {
    metadata: ObjectMeta,
    spec: PolicySpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PolicySpec {
    module: String,
    mutating: bool,
    rules: Vec<Rule>,
    namespace_selector: LabelSelector,
    /// As it is written, for our own reader.
    settings: Option<Box<RawValue>>,
}

impl Registered {
    /// True iff every update of a StatefulSet in a namespace with these labels is judged by the policy or by the guard.
    #[must_use]
    pub(super) fn judges(&self, namespace: &Labels) -> bool {
        let mut webhooks = self
            .configurations
            .iter()
            .flat_map(|configuration| &configuration.webhooks);
        webhooks.any(|webhook| self.is_ours(webhook) && webhook.judges(namespace))
            || self.guards.iter().any(|guard| self.guards(guard, namespace))
    }

    fn is_ours(&self, webhook: &Webhook) -> bool {
        let first = webhook.name.split('.').next().unwrap_or_default();
        let by_kubewarden = || {
            let name = webhook.name.strip_suffix(".kubewarden.admission");
            let policies = self.policies.iter().filter(|policy| policy.is_ours());
            name.is_some_and(|name| policies.into_iter().any(|policy| policy.webhook() == name))
        };
        first.contains(OURS) || by_kubewarden()
    }

    fn guards(&self, guard: &Guard, namespace: &Labels) -> bool {
        let name = guard.metadata.name.as_deref().unwrap_or_default();
        let constraints = &guard.spec.match_constraints;
        let is_whole = name.starts_with(GUARD)
            && constraints.resource_rules.iter().any(Rule::is_update_of_sets)
            && constraints.exclude_resource_rules.is_empty()
            && constraints.reaches(namespace);
        let binds = |binding: &Binding| {
            let spec = &binding.spec;
            let scope = &spec.match_resources;
            spec.policy_name == name
                && spec.validation_actions.iter().any(|action| action == "Deny")
                && scope.resource_rules.is_empty()
                && scope.exclude_resource_rules.is_empty()
                && scope.reaches(namespace)
        };
        is_whole && self.bindings.iter().any(binds)
    }

    /// In what the settings of policy objects differ from ours, a line each. With `namespace`, only of objects for it.
    #[must_use]
    pub(super) fn differing(&self, ours: &Settings, namespace: Option<&Labels>) -> Vec<String> {
        let policies = self.policies.iter().filter(|policy| policy.is_ours());
        let policies = policies.filter(|policy| namespace.is_none_or(|labels| policy.reaches(labels)));
        let lines = policies.flat_map(|policy| {
            let name = policy.metadata.name.as_deref().unwrap_or_default();
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

impl Webhook {
    /// With a selector of objects whoever edits a StatefulSet decides whether it is judged, so that does not count.
    fn judges(&self, namespace: &Labels) -> bool {
        self.rules.iter().any(Rule::is_update_of_sets)
            && is_empty(&self.object_selector)
            && selects(&self.namespace_selector, namespace)
    }
}

impl Scope {
    fn reaches(&self, namespace: &Labels) -> bool {
        is_empty(&self.object_selector) && selects(&self.namespace_selector, namespace)
    }
}

impl Rule {
    fn is_update_of_sets(&self) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|item| item == word || item == "*");
        has(&self.api_groups, "apps")
            && has(&self.api_versions, "v1")
            && (has(&self.resources, "statefulsets") || has(&self.resources, "*/*"))
            && has(&self.operations, "UPDATE")
    }
}

impl Policy {
    /// The object of our module that stages changes.
    fn is_ours(&self) -> bool {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        (self.spec.module.contains(OURS) || name.contains(OURS))
            && self.spec.mutating
            && self.spec.rules.iter().any(Rule::is_update_of_sets)
    }

    fn reaches(&self, namespace: &Labels) -> bool {
        match &self.metadata.namespace {
            Some(own) => namespace.get("kubernetes.io/metadata.name") == Some(own),
            None => selects(&self.spec.namespace_selector, namespace),
        }
    }

    /// What Kubewarden calls it in the webhook that it makes.
    fn webhook(&self) -> String {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        match &self.metadata.namespace {
            Some(namespace) => format!("namespaced-{namespace}-{name}"),
            None => format!("clusterwide-{name}"),
        }
    }
}

fn is_empty(selector: &LabelSelector) -> bool {
    let no_expressions = selector.match_expressions.as_ref().is_none_or(Vec::is_empty);
    no_expressions && selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
}

/// One that cannot be read selects nothing.
fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

#[cfg(test)]
#[path = "registered_tests.rs"]
mod tests;
