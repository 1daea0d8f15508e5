//! A policy-server for some namespaces, with the shipped policy objects.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use super::Environment;
use crate::world::installation::api_of_policy_server;
use crate::world::namespace::TestNamespace;
use crate::world::policy_host::{PolicyHost, Registration, Shipped};
use crate::world::{STATEFULSET_CONTROLLER, eventually};

/// The most time until the API server calls a new webhook, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The shipped policy objects to serve, and the changes in them.
pub(crate) struct Policies {
    shipped: Vec<Shipped>,
    namespaces: Vec<String>,
    unconditional: bool,
}

impl Policies {
    /// The shipped object for StatefulSets, for these namespaces only.
    pub(crate) fn of_sets(all: &[&TestNamespace<'_>]) -> anyhow::Result<Self> {
        Ok(Self {
            shipped: vec![Shipped::sets()?],
            namespaces: all.iter().map(|ns| ns.namespace.clone()).collect(),
            unconditional: false,
        })
    }

    /// The shipped object for PVCs, for these namespaces only.
    pub(crate) fn of_claims(all: &[&TestNamespace<'_>]) -> anyhow::Result<Self> {
        let mut policies = Self::of_sets(all)?.and_claims()?;
        policies.shipped.remove(0);
        Ok(policies)
    }

    /// Adds the shipped object for PVCs.
    pub(crate) fn and_claims(mut self) -> anyhow::Result<Self> {
        self.shipped.push(Shipped::claims()?);
        Ok(self)
    }

    /// Adds the shipped object for Pods.
    pub(crate) fn and_pods(mut self) -> anyhow::Result<Self> {
        self.shipped.push(Shipped::pods()?);
        Ok(self)
    }

    /// Adds the shipped object for retention, with this setting.
    pub(crate) fn and_retention(mut self, retention: &str) -> anyhow::Result<Self> {
        let mut shipped = Shipped::retention()?;
        shipped.spec["settings"]["retention"] = json!(retention);
        self.shipped.push(shipped);
        Ok(self)
    }

    /// Sets a setting of the first object.
    pub(crate) fn with(mut self, setting: &str, value: &Value) -> Self {
        self.shipped[0].spec["settings"][setting] = value.clone();
        self
    }

    /// Removes the matchConditions: the policy is called for every request that the rules match.
    pub(crate) fn unconditionally(mut self) -> Self {
        self.unconditional = true;
        self
    }

    /// Starts a policy-server with these objects, and returns when the API server calls each of them.
    pub(crate) async fn serve<'a>(self, env: &'a Environment) -> anyhow::Result<Served<'a>> {
        let mut policies = Vec::new();
        let mut registrations = Vec::new();
        for mut shipped in self.shipped {
            shipped.name = format!("{}.{}", shipped.name, self.namespaces[0]);
            policies.push(shipped.policy(&env.module)?);
            let mut registration = shipped.registration();
            if self.unconditional {
                registration = registration.unconditionally();
            }
            for namespace in &self.namespaces {
                registration = registration.in_namespace(namespace);
            }
            registrations.push(registration);
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(&env.cluster).await?)).await?;
        let served = Served {
            env,
            host,
            registrations,
            namespace: self.namespaces[0].clone(),
        };
        for registration in &served.registrations {
            served.host.register(&env.client, registration).await?;
        }
        served.until_called().await?;
        Ok(served)
    }
}

/// A StatefulSet without Pods.
fn probe(retention: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "probe"},
        "spec": {
            "replicas": 0, "serviceName": "probe", "selector": {"matchLabels": {"app": "probe"}},
            "template": {
                "metadata": {"labels": {"app": "probe"}},
                "spec": {"containers": [{"name": "probe", "image": "probe"}]},
            },
            "persistentVolumeClaimRetentionPolicy": retention,
        },
    })
}

/// A running policy-server.
pub(crate) struct Served<'a> {
    env: &'a Environment,
    host: PolicyHost,
    registrations: Vec<Registration>,
    namespace: String,
}

impl Served<'_> {
    /// The number of requests to the policy for StatefulSets.
    pub(crate) fn sets(&self) -> u64 {
        self.asked("claim-rollout")
    }

    /// The number of requests to the policy for PVCs.
    pub(crate) fn claims(&self) -> u64 {
        self.asked("claim-rollout-claims")
    }

    /// The number of requests to the policy for Pods.
    pub(crate) fn pods(&self) -> u64 {
        self.asked("claim-rollout-pods")
    }

    /// The number of requests to the policy for retention.
    pub(crate) fn retention(&self) -> u64 {
        self.asked("claim-rollout-retention")
    }

    fn asked(&self, policy: &str) -> u64 {
        self.host.requests(&format!("{policy}.{}", self.namespace))
    }

    /// Stops the policy-server but leaves its webhooks, which fail from now on.
    pub(crate) async fn lose(self) -> anyhow::Result<()> {
        self.host.stop().await
    }

    async fn until_called(&self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            let policy = registration.policy();
            match policy.split_once('.').map(|(shipped, _)| shipped) {
                Some("claim-rollout-claims") => {
                    let claim = json!({
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-probe-0"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    });
                    let arguments = ["create", "-f", "-", "--as", STATEFULSET_CONTROLLER];
                    self.until_asked(policy, &arguments, &claim).await?;
                }
                Some("claim-rollout-pods") => self.until_asked_about_a_pod(policy).await?,
                Some("claim-rollout-retention") => {
                    let set = probe(&json!({"whenDeleted": "Delete"}));
                    self.kubectl(&["create", "-f", "-"], &set).await?;
                    self.until_asked(policy, &["delete", "statefulset", "probe"], &Value::Null)
                        .await?;
                }
                _ => self.host.until_called(&self.env.client, registration).await?,
            }
        }
        Ok(())
    }

    /// Uses a Pod with the label that the StatefulSet controller gives its Pods.
    async fn until_asked_about_a_pod(&self, policy: &str) -> anyhow::Result<()> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "probe", "labels": {"statefulset.kubernetes.io/pod-name": "probe"}},
            "spec": {
                "containers": [{"name": "probe", "image": "probe"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "probe"}}],
            },
        });
        // The service account of a new namespace appears a moment after the namespace.
        let created = eventually("a Pod to be created", PATIENCE, async || {
            Ok(self.kubectl(&["create", "-f", "-"], &pod).await.ok())
        });
        created.await?;
        let delete = ["delete", "pod", "probe", "--as", STATEFULSET_CONTROLLER];
        self.until_asked(policy, &delete, &Value::Null).await?;
        let now = ["delete", "pod", "probe", "--force", "--grace-period=0"];
        self.kubectl(&now, &Value::Null).await
    }

    /// Sends a request as a dry run until the policy is called for it.
    async fn until_asked(&self, policy: &str, arguments: &[&str], input: &Value) -> anyhow::Result<()> {
        let before = self.host.requests(policy);
        let what = format!("the API server to call {policy}");
        let asked = eventually(&what, PATIENCE, async || {
            self.kubectl(&[arguments, &["--dry-run=server"]].concat(), input)
                .await?;
            Ok((self.host.requests(policy) > before).then_some(()))
        });
        asked.await
    }

    async fn kubectl(&self, arguments: &[&str], input: &Value) -> anyhow::Result<()> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        let output = self.env.cluster.kubectl(&arguments, &input.to_string()).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(())
    }
}
