//! Policy-servers with the shipped policy objects: for the whole cluster, or for some namespaces.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::installation::api_of_policy_server;
use super::namespace::TestNamespace;
use super::policy_host::{PolicyHost, Registration, Shipped, shared_policy};
use super::waiting::PATIENCE;
use super::web::Web;
use super::{Cluster, STATEFULSET_CONTROLLER, eventually};

/// The namespaces for which the policy-server of all others is not called.
pub(crate) const APART: [&str; 19] = [
    "gate",
    "gate-async",
    "gate-lazy",
    "native",
    "new-claims",
    "new-claims-down",
    "recover",
    "retention",
    "stopped-absent",
    "stopped-smaller",
    "stopped-taken-back",
    "stopped-without-policy",
    "verbs-apply",
    "verbs-edit",
    "verbs-json-patch",
    "verbs-merge-patch",
    "verbs-replace",
    "verbs-server-side-apply",
    "verbs-strategic-patch",
];

/// The shipped policy objects to serve, and the changes in them.
pub(crate) struct Policies {
    shipped: Vec<Shipped>,
    namespaces: Vec<String>,
    but_in: Vec<String>,
    /// Whether requests prove that the API server calls each of them, and not only the one for StatefulSets.
    proven: bool,
}

impl Policies {
    fn new(shipped: Vec<Shipped>) -> Self {
        Self {
            shipped,
            namespaces: Vec::new(),
            but_in: Vec::new(),
            proven: false,
        }
    }

    /// Those for StatefulSets, PVCs and Pods, with these settings, for all namespaces.
    pub(crate) fn all(settings: &Value) -> anyhow::Result<Self> {
        // The API server learns of them in this order: when it calls the last, it calls the first.
        let shipped = [Shipped::claims()?, Shipped::pods()?, Shipped::sets()?.for_openkruise()];
        Ok(Self::new(
            shipped.into_iter().map(|one| one.with_settings(settings)).collect(),
        ))
    }

    /// The shipped object for StatefulSets, for these namespaces only.
    pub(crate) fn of_sets(all: &[&TestNamespace<'_>]) -> anyhow::Result<Self> {
        let mut policies = Self::new(vec![Shipped::sets()?]);
        policies.namespaces = all.iter().map(|ns| ns.namespace.clone()).collect();
        policies.proven = true;
        Ok(policies)
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

    /// They are not called for these namespaces.
    pub(crate) fn but_in(mut self, namespaces: &[&str]) -> Self {
        self.but_in = namespaces.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Starts a policy-server with these objects, and returns when the API server calls it.
    pub(crate) async fn serve(self, cluster: &Cluster) -> anyhow::Result<Served> {
        let module = shared_policy()?;
        let mut policies = Vec::new();
        let mut registrations = Vec::new();
        for mut shipped in self.shipped {
            if let Some(first) = self.namespaces.first() {
                shipped.name = format!("{}.{first}", shipped.name);
            }
            policies.push(shipped.policy(&module)?);
            let but_in: Vec<&str> = self.but_in.iter().map(String::as_str).collect();
            let mut registration = shipped.registration().but_in(&but_in);
            for namespace in &self.namespaces {
                registration = registration.in_namespace(namespace);
            }
            registrations.push(registration);
        }
        let host = PolicyHost::start(policies, Arc::new(api_of_policy_server(cluster).await?)).await?;
        let served = Served {
            host,
            registrations,
            client: cluster.client().await?,
            namespace: self.namespaces.into_iter().next(),
        };
        served.come().await?;
        if self.proven {
            served.until_each_is_called(cluster).await?;
        }
        Ok(served)
    }
}

/// A running policy-server.
pub(crate) struct Served {
    host: PolicyHost,
    registrations: Vec<Registration>,
    client: kube::Client,
    /// The first of its namespaces, if it does not serve all.
    namespace: Option<String>,
}

impl Served {
    /// Serves the shipped policies with these settings, for one namespace.
    pub(crate) async fn start(ns: &TestNamespace<'_>, settings: &Value) -> anyhow::Result<Self> {
        let mut policies = Policies::all(settings)?;
        policies.namespaces.push(ns.namespace.clone());
        policies.serve(ns.cluster).await
    }

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

    fn asked(&self, policy: &str) -> u64 {
        match &self.namespace {
            Some(namespace) => self.host.requests(&format!("{policy}.{namespace}")),
            None => self.host.requests(policy),
        }
    }

    /// The number of requests of all kinds.
    pub(crate) fn all_requests(&self) -> u64 {
        let requests = self.registrations.iter().map(|it| self.host.requests(it.policy()));
        requests.sum()
    }

    /// The address, certificate and path of the last policy.
    pub(crate) fn webhook(&self) -> anyhow::Result<(SocketAddr, String, String)> {
        let last = self.registrations.last().context("a policy")?;
        let url = self.host.url(last.policy());
        let url = url.strip_prefix("https://").context("a URL")?;
        let (address, path) = url.split_once('/').context("a path")?;
        Ok((address.parse()?, self.host.certificate().to_owned(), format!("/{path}")))
    }

    /// Registers the webhooks, and returns when the API server calls the one for StatefulSets.
    pub(crate) async fn come(&self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.register(&self.client, registration).await?;
        }
        self.until_called(true).await
    }

    /// Removes the webhooks, as an uninstall does, and returns when the API server has noticed.
    pub(crate) async fn go(&self) -> anyhow::Result<()> {
        self.unregister().await?;
        self.until_called(false).await
    }

    async fn unregister(&self) -> anyhow::Result<()> {
        for registration in &self.registrations {
            self.host.unregister(&self.client, registration).await?;
        }
        Ok(())
    }

    /// Stops the policy-server but leaves its webhooks, which fail from now on.
    pub(crate) async fn lose(self) -> anyhow::Result<()> {
        self.host.stop().await
    }

    /// Unregisters and stops the policy-server.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.unregister().await?;
        self.host.stop().await
    }

    async fn until_called(&self, called: bool) -> anyhow::Result<()> {
        let kind = |registration: &&Registration| registration.policy().split('.').next() == Some("claim-rollout");
        match self.registrations.iter().find(kind) {
            Some(sets) => self.host.until_called(&self.client, sets, called).await,
            None => Ok(()),
        }
    }

    async fn until_each_is_called(&self, cluster: &Cluster) -> anyhow::Result<()> {
        for registration in &self.registrations {
            let policy = registration.policy();
            match policy.split_once('.').map(|(shipped, _)| shipped) {
                Some("claim-rollout-claims") => {
                    let claim = json!({
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-probe-0"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    });
                    let arguments = ["create", "-f", "-", "--as", STATEFULSET_CONTROLLER];
                    self.until_asked(cluster, policy, &arguments, &claim).await?;
                }
                Some("claim-rollout-pods") => self.until_asked_about_a_pod(cluster, policy).await?,
                Some("claim-rollout-retention") => {
                    let retention = json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}});
                    let set = Web::replicas(0).plain().named("probe").spec(&retention);
                    self.kubectl(cluster, &["create", "-f", "-"], &set.value()).await?;
                    let delete = ["delete", "statefulset", "probe"];
                    self.until_asked(cluster, policy, &delete, &Value::Null).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Uses a Pod with the label that the StatefulSet controller gives its Pods.
    async fn until_asked_about_a_pod(&self, cluster: &Cluster, policy: &str) -> anyhow::Result<()> {
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
            Ok(self.kubectl(cluster, &["create", "-f", "-"], &pod).await.ok())
        });
        created.await?;
        let delete = ["delete", "pod", "probe", "--as", STATEFULSET_CONTROLLER];
        self.until_asked(cluster, policy, &delete, &Value::Null).await?;
        let now = ["delete", "pod", "probe", "--force", "--grace-period=0"];
        self.kubectl(cluster, &now, &Value::Null).await
    }

    /// Sends a request as a dry run until the policy is called for it.
    async fn until_asked(
        &self,
        cluster: &Cluster,
        policy: &str,
        arguments: &[&str],
        input: &Value,
    ) -> anyhow::Result<()> {
        let before = self.host.requests(policy);
        let what = format!("the API server to call {policy}");
        let asked = eventually(&what, PATIENCE, async || {
            self.kubectl(cluster, &[arguments, &["--dry-run=server"]].concat(), input)
                .await?;
            Ok((self.host.requests(policy) > before).then_some(()))
        });
        asked.await
    }

    async fn kubectl(&self, cluster: &Cluster, arguments: &[&str], input: &Value) -> anyhow::Result<()> {
        let namespace = self.namespace.as_deref().unwrap_or("default");
        let arguments = [arguments, &["--namespace", namespace]].concat();
        cluster.done(&arguments, &input.to_string()).await.map(drop)
    }
}
