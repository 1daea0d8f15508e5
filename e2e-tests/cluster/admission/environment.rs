//! The cluster of these scenarios.

use crate::world::installation::Controllers;
use crate::world::namespace::TestNamespace;
use crate::world::policy_host::{Module, Runtime};
use crate::world::{Cluster, Options};

/// A cluster with claim-rollout but without a policy-server.
pub(crate) struct Environment {
    pub(crate) cluster: Cluster,
    pub(crate) client: kube::Client,
    pub(crate) module: Module,
    pub(crate) controllers: Controllers,
}

impl Environment {
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default()).await?;
        let client = cluster.client().await?;
        let module = Runtime::patient()?.load_policy()?;
        let controllers = Controllers::install(&cluster).await?;
        Ok(Self {
            cluster,
            client,
            module,
            controllers,
        })
    }

    /// Creates a namespace.
    pub(crate) async fn namespace(&self, namespace: &str) -> anyhow::Result<TestNamespace<'_>> {
        TestNamespace::new(&self.cluster, &self.client, namespace).await
    }

    /// Creates namespaces.
    pub(crate) async fn namespaces(&self, namespaces: &[&str]) -> anyhow::Result<Vec<TestNamespace<'_>>> {
        futures::future::try_join_all(namespaces.iter().map(|namespace| self.namespace(namespace))).await
    }
}
