//! Makes an API server call a policy of this host, as the controller of Kubewarden does.

use anyhow::Context as _;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::PolicyHost;
use crate::world::{PATIENCE, base64, eventually};

/// A webhook to be registered under the name that Kubewarden gives it. The configuration has the name of the policy.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    policy: String,
    /// The `spec` of the policy object.
    spec: Value,
    namespaces: Vec<String>,
    but_in: Vec<String>,
    label: Option<(String, String)>,
}

/// The most that the API server allows, for slow machines.
const TIMEOUT: u32 = 30;

impl Registration {
    /// A registration by the `spec` of a policy object.
    pub(crate) fn new(policy: &str, spec: Value) -> Self {
        Self {
            policy: policy.to_owned(),
            spec,
            namespaces: Vec::new(),
            but_in: Vec::new(),
            label: None,
        }
    }

    /// The name of the policy.
    pub(crate) fn policy(&self) -> &str {
        &self.policy
    }

    /// The same under another name.
    pub(crate) fn named(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// Limits it to this namespace and those of previous calls.
    pub(crate) fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespaces.push(namespace.to_owned());
        self
    }

    /// Excludes these namespaces.
    pub(crate) fn but_in(mut self, namespaces: &[&str]) -> Self {
        self.but_in = namespaces.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Limits it to namespaces with this label.
    pub(crate) fn for_label(mut self, key: &str, value: &str) -> Self {
        self.label = Some((key.to_owned(), value.to_owned()));
        self
    }

    /// The kind of the configuration: a mutating policy is called before the object is validated.
    fn kind(&self) -> &'static str {
        if self.spec["mutating"] == true {
            "MutatingWebhookConfiguration"
        } else {
            "ValidatingWebhookConfiguration"
        }
    }

    /// The configuration that leads to `host`.
    pub(crate) fn configuration(&self, host: &PolicyHost) -> Value {
        self.leading_to(&host.url(&self.policy), host.certificate())
    }

    /// The configuration that leads to this URL, whose server has this certificate.
    fn leading_to(&self, url: &str, certificate: &str) -> Value {
        let of_policy = |key: &str| self.spec[key].clone();
        let mut webhook = json!({
            "name": format!("clusterwide-{}.kubewarden.admission", self.policy),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url, "caBundle": base64(certificate)},
            "failurePolicy": of_policy("failurePolicy"),
            "matchConditions": of_policy("matchConditions"),
            "matchPolicy": "Equivalent",
            "rules": of_policy("rules"),
            "sideEffects": "None",
            "timeoutSeconds": TIMEOUT,
        });
        if self.spec["mutating"] == true {
            webhook["reinvocationPolicy"] = json!("Never");
        }
        let named = |operator: &str, names: &[String]| json!({"key": "kubernetes.io/metadata.name", "operator": operator, "values": names});
        if let Some((key, value)) = &self.label {
            webhook["namespaceSelector"] = json!({"matchLabels": {key: value}});
        } else if !self.namespaces.is_empty() {
            webhook["namespaceSelector"] = json!({"matchExpressions": [named("In", &self.namespaces)]});
        } else if !self.but_in.is_empty() {
            webhook["namespaceSelector"] = json!({"matchExpressions": [named("NotIn", &self.but_in)]});
        }
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": self.kind(),
            "metadata": {"name": self.policy},
            "webhooks": [webhook],
        })
    }

    fn configurations(&self, client: &kube::Client) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", self.kind());
        Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
    }

    async fn apply(&self, client: &kube::Client, configuration: &Value) -> anyhow::Result<()> {
        let apply = PatchParams::apply("policy-host").force();
        let configurations = self.configurations(client);
        configurations
            .patch(&self.policy, &apply, &Patch::Apply(configuration))
            .await?;
        Ok(())
    }

    /// Registers or changes a webhook that leads to another server than a [`PolicyHost`].
    pub(crate) async fn register_at(&self, client: &kube::Client, url: &str, certificate: &str) -> anyhow::Result<()> {
        self.apply(client, &self.leading_to(url, certificate)).await
    }
}

impl PolicyHost {
    /// Registers or changes a webhook.
    pub(crate) async fn register(&self, client: &kube::Client, registration: &Registration) -> anyhow::Result<()> {
        registration.apply(client, &registration.configuration(self)).await
    }

    /// Waits until the API server calls a webhook for StatefulSets, or no longer does, because it learns of a registration
    /// with a delay. Sends dry runs in the first namespace of the registration (or in `default`), which must exist.
    pub(crate) async fn until_called(
        &self,
        client: &kube::Client,
        registration: &Registration,
        called: bool,
    ) -> anyhow::Result<()> {
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
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let mut last = String::new();
        let noticed = eventually("the API server to notice a webhook", PATIENCE, async || {
            let before = self.requests(&registration.policy);
            let answer = sets.create(&dry_run, &probe).await;
            last = answer.map_or_else(|error| error.to_string(), |_| String::new());
            Ok(((self.requests(&registration.policy) > before) == called).then_some(()))
        });
        noticed.await.with_context(|| last)
    }

    /// Removes a registration.
    pub(crate) async fn unregister(&self, client: &kube::Client, registration: &Registration) -> anyhow::Result<()> {
        let configurations = registration.configurations(client);
        configurations
            .delete(&registration.policy, &DeleteParams::default())
            .await?;
        Ok(())
    }
}
