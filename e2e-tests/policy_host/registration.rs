//! Makes an API server call a policy of this host.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, WebhookClientConfig,
};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::PolicyHost;

/// The condition that the shipped policies carry: an UPDATE that changes the templates, or a set with a key of ours.
pub(crate) const CONCERNS_US: &str = "\
    (oldObject != null && object.spec.?volumeClaimTemplates != oldObject.spec.?volumeClaimTemplates) || \
    (oldObject == null ? [object] : [object, oldObject]).exists(set, \
        set.metadata.?annotations.orValue({}).exists(key, key.startsWith('claim-rollout.io/')))";

/// A webhook to be registered; the name of the policy is the name of the configuration, too.
#[derive(Clone)]
pub(crate) struct Registration {
    policy: String,
    group: &'static str,
    resource: &'static str,
    operations: &'static [&'static str],
    failure_policy: &'static str,
    namespaces: Vec<String>,
    conditions: Vec<MatchCondition>,
}

impl Registration {
    /// For StatefulSets that are created or updated; fails closed.
    pub(crate) fn of_sets(policy: &str) -> Self {
        Self {
            policy: policy.to_owned(),
            group: "apps",
            resource: "statefulsets",
            operations: &["CREATE", "UPDATE"],
            failure_policy: "Fail",
            namespaces: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// For claims that are created; fails open.
    pub(crate) fn of_claims(policy: &str) -> Self {
        let resource = "persistentvolumeclaims";
        Self {
            group: "",
            resource,
            operations: &["CREATE"],
            failure_policy: "Ignore",
            ..Self::of_sets(policy)
        }
    }

    /// Only in this namespace, and in those named before.
    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespaces.push(namespace.to_owned());
        self
    }

    /// Only if this CEL expression is true.
    pub(crate) fn when(mut self, name: &str, expression: &str) -> Self {
        self.conditions.push(MatchCondition {
            name: name.to_owned(),
            expression: expression.to_owned(),
        });
        self
    }

    /// Only if the shipped condition is true.
    pub(crate) fn when_it_concerns_us(self) -> Self {
        self.when("concerns-claim-rollout", CONCERNS_US)
    }

    /// The configuration that leads to `host`.
    pub(crate) fn configuration(&self, host: &PolicyHost) -> MutatingWebhookConfiguration {
        let one = |text: &str| Some(vec![text.to_owned()]);
        let selector = LabelSelectorRequirement {
            key: "kubernetes.io/metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(self.namespaces.clone()),
        };
        let webhook = MutatingWebhook {
            name: format!("{}.policy-host.test", self.policy),
            admission_review_versions: vec!["v1".to_owned()],
            client_config: WebhookClientConfig {
                ca_bundle: Some(ByteString(host.certificate().as_bytes().to_vec())),
                url: Some(host.url(&self.policy)),
                ..WebhookClientConfig::default()
            },
            failure_policy: Some(self.failure_policy.to_owned()),
            match_conditions: (!self.conditions.is_empty()).then(|| self.conditions.clone()),
            match_policy: Some("Equivalent".to_owned()),
            namespace_selector: (!self.namespaces.is_empty()).then(|| LabelSelector {
                match_expressions: Some(vec![selector]),
                match_labels: None,
            }),
            reinvocation_policy: Some("Never".to_owned()),
            rules: Some(vec![RuleWithOperations {
                api_groups: one(self.group),
                api_versions: one("v1"),
                operations: Some(self.operations.iter().map(ToString::to_string).collect()),
                resources: one(self.resource),
                scope: Some("Namespaced".to_owned()),
            }]),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(5),
            ..MutatingWebhook::default()
        };
        let metadata = ObjectMeta {
            name: Some(self.policy.clone()),
            ..ObjectMeta::default()
        };
        MutatingWebhookConfiguration {
            metadata,
            webhooks: Some(vec![webhook]),
        }
    }
}

impl PolicyHost {
    /// Registers a webhook, or changes it.
    pub(crate) async fn register(&self, client: &kube::Client, registration: &Registration) -> anyhow::Result<()> {
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        let apply = PatchParams::apply("policy-host").force();
        let configuration = registration.configuration(self);
        configurations
            .patch(&registration.policy, &apply, &Patch::Apply(configuration))
            .await?;
        Ok(())
    }

    /// Waits until the API server calls a webhook for sets: it learns of a registration a moment later. Asks with a
    /// dry run in the first namespace of the registration (or in `default`), which must exist.
    pub(crate) async fn until_called(&self, client: &kube::Client, registration: &Registration) -> anyhow::Result<()> {
        let namespace = registration.namespaces.first().map_or("default", String::as_str);
        let sets: Api<StatefulSet> = Api::namespaced(client.clone(), namespace);
        let probe: StatefulSet = serde_json::from_value(json!({
            "metadata": {"name": "probe", "annotations": {"claim-rollout.io/update-policy": "InPlace"}},
            "spec": {
                "replicas": 0,
                "serviceName": "probe",
                "selector": {"matchLabels": {"app": "probe"}},
                "template": {
                    "metadata": {"labels": {"app": "probe"}},
                    "spec": {"containers": [{"name": "probe", "image": "probe"}]},
                },
            },
        }))?;
        let before = self.requests(&registration.policy);
        let mut last = None;
        for _ in 0..100 {
            last = sets
                .create(
                    &PostParams {
                        dry_run: true,
                        ..PostParams::default()
                    },
                    &probe,
                )
                .await
                .err();
            if self.requests(&registration.policy) > before {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        match last {
            Some(error) => Err(error).context("expected the API server to call the policy within 10 s"),
            None => bail!("expected the API server to call the policy within 10 s, but it did not"),
        }
    }

    /// Takes a registration back.
    pub(crate) async fn unregister(&self, client: &kube::Client, registration: &Registration) -> anyhow::Result<()> {
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        configurations
            .delete(&registration.policy, &kube::api::DeleteParams::default())
            .await?;
        Ok(())
    }
}
