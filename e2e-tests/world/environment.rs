//! A cluster with claim-rollout for several scenarios: each has its own namespace and controller.

use serde_json::{Value, json};

use crate::world::installation::{Installation, manifest_applied};
use crate::world::namespace::TestNamespace;
use crate::world::{Cluster, Options};

/// A cluster, the policy in it, and a client.
pub(crate) struct Environment {
    pub(crate) cluster: Cluster,
    pub(crate) installation: Installation,
    pub(crate) client: kube::Client,
}

impl Environment {
    /// Starts the cluster, with the policy and without a controller.
    pub(crate) async fn build(options: Options) -> anyhow::Result<Self> {
        Self::with(options, json!({})).await
    }

    /// The same with these settings of the policy.
    pub(crate) async fn with(options: Options, settings: Value) -> anyhow::Result<Self> {
        Self::on(Cluster::start(options).await?, settings).await
    }

    /// The same on a cluster that runs.
    pub(crate) async fn on(cluster: Cluster, settings: Value) -> anyhow::Result<Self> {
        let installation = Installation::new(&cluster, settings).await?;
        Self::of(cluster, installation).await
    }

    /// The same cluster with other settings of the policy.
    pub(crate) async fn reinstalled(self, settings: Value) -> anyhow::Result<Self> {
        self.installation.stop().await?;
        Self::on(self.cluster, settings).await
    }

    /// The same with the settings of `deploy/`.
    pub(crate) async fn shipped(options: Options) -> anyhow::Result<Self> {
        let cluster = Cluster::start(options).await?;
        let installation = Installation::shipped(&cluster).await?;
        Self::of(cluster, installation).await
    }

    async fn of(cluster: Cluster, installation: Installation) -> anyhow::Result<Self> {
        Ok(Self {
            installation,
            client: cluster.client().await?,
            cluster,
        })
    }

    /// Creates a namespace with a controller.
    pub(crate) async fn namespace(&self, namespace: &str) -> anyhow::Result<TestNamespace<'_>> {
        let mut ns = TestNamespace::new(&self.cluster, &self.client, namespace).await?;
        ns.controller = Some(self.installation.start_controller(&["--namespace", namespace]).await?);
        Ok(ns)
    }

    /// Gives the controllers the rights to replace StatefulSets.
    pub(crate) async fn allow_replacements(&self) -> anyhow::Result<()> {
        manifest_applied(&self.cluster, "replace-sets.yaml").await
    }

    /// Stops everything after a success.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.installation.stop().await?;
        self.cluster.stop();
        Ok(())
    }
}
