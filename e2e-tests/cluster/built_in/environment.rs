//! The cluster of these scenarios.

use super::server::Server;
use crate::world::installation::{Controllers, manifest_applied};
use crate::world::namespace::TestNamespace;
use crate::world::{Cluster, Options};

/// A cluster with the built-in webhook.
pub(crate) struct Environment {
    pub(super) cluster: Cluster,
    controllers: Controllers,
    pub(super) client: kube::Client,
    pub(super) server: Server,
}

impl Environment {
    pub(super) async fn build() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default()).await?;
        let controllers = Controllers::install(&cluster).await?;
        manifest_applied(&cluster, "webhook/rbac.yaml").await?;
        Ok(Self {
            server: Server::start(&cluster).await?,
            client: cluster.client().await?,
            controllers,
            cluster,
        })
    }

    /// Creates a namespace with a controller.
    pub(super) async fn namespace(&self, namespace: &str) -> anyhow::Result<TestNamespace<'_>> {
        let mut ns = TestNamespace::new(&self.cluster, &self.client, namespace).await?;
        ns.controller = Some(self.controllers.start(&["--namespace", namespace]).await?);
        Ok(ns)
    }
}
