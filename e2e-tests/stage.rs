//! A cluster with claim-rollout in it, which plays share: each has a namespace and a controller of its own.

use serde_json::json;

use crate::cluster::{Cluster, Options};
use crate::installation::Installation;
use crate::scenarios::scene::Scene;

/// What the plays share.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) installation: Installation,
    pub(crate) client: kube::Client,
}

impl Stage {
    /// Starts the cluster, with the policy in it and without a controller.
    pub(crate) async fn build(options: Options) -> anyhow::Result<Self> {
        let cluster = Cluster::start(options).await?;
        Ok(Self {
            installation: Installation::new(&cluster, json!({})).await?,
            client: cluster.client().await?,
            cluster,
        })
    }

    /// A fresh namespace with a controller.
    pub(crate) async fn scene(&self, namespace: &str) -> anyhow::Result<Scene<'_>> {
        let mut scene = Scene::new(&self.cluster, &self.client, namespace).await?;
        scene.controller = Some(self.installation.start_controller(&["--namespace", namespace]).await?);
        Ok(scene)
    }

    /// Ends it after a success.
    pub(crate) async fn strike(self) -> anyhow::Result<()> {
        self.installation.stop().await?;
        self.cluster.stop();
        Ok(())
    }
}
