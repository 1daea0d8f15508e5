//! The cluster of these scenarios.

use claim_rollout::webhook::Running;
use serde_json::json;

use crate::world::barrier::Barriers;
use crate::world::installation::Installation;
use crate::world::policy_host::documents;
use crate::world::{Cluster, Options};

/// The settings of the controllers, a file in the folder of the cluster.
pub(crate) const SETTINGS: &str = "recreate.yaml";

/// The namespaces for which the policy is not called.
pub(crate) const APART: [&str; 0] = [];

/// The cluster, the policy and the barriers of all scenarios.
pub(crate) struct Environment {
    pub(crate) cluster: Cluster,
    pub(crate) installation: Installation,
    pub(crate) client: kube::Client,
    pub(crate) barriers: Barriers,
    _served: Running,
}

/// A cluster with the rights and the setting that ReCreate needs.
pub(crate) async fn build() -> anyhow::Result<Environment> {
    let cluster = Cluster::start(Options::default()).await?;
    let installation = Installation::but_in(&APART, &cluster, json!({"allowReCreate": true})).await?;
    for document in documents("recreate.yaml")? {
        // Each namespace binds the role, but for one.
        if document["kind"] == "ClusterRole" {
            cluster.kubectl(&["apply", "-f", "-"], &document.to_string()).await?;
        }
    }
    std::fs::write(cluster.folder().join(SETTINGS), "allowReCreate: true\n")?;
    let client = cluster.client().await?;
    let barriers = Barriers::default();
    let served = barriers.install(&cluster).await?;
    Ok(Environment {
        cluster,
        installation,
        client,
        barriers,
        _served: served,
    })
}
