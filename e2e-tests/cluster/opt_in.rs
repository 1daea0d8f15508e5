//! What is opt-in: StatefulSets are replaced, PVCs are created anew, and templates are added, removed and renamed. All
//! scenarios run side by side in one cluster with the settings for all of it, each in its own namespace. Most of them
//! wait, for example until a StatefulSet is a minute old.

use serde_json::json;

use super::recreate::trial::RECREATING;
use super::{recreate, replacing, template_changes};
use crate::world::policy_host::documents;
use crate::world::runner::{Report, Scenario, WAITING};
use crate::world::{Options, World};

/// Runs scenarios in a cluster with the right to replace StatefulSets. Each namespace binds the roles for the rest.
pub(crate) async fn run(scenarios: &[&[Scenario<World>]]) -> anyhow::Result<()> {
    let mut report = Report::new().side_by_side(WAITING);
    let env = World::with(Options::default())
        .policy(json!({"allowReCreate": true, "templateChanges": "Allow"}))
        .rights(&["replace-sets.yaml"])
        .barriers()
        .build()
        .await?;
    for document in [documents("recreate.yaml")?, documents("evict-pods.yaml")?].concat() {
        if document["kind"] == "ClusterRole" {
            env.cluster.done(&["apply", "-f", "-"], &document.to_string()).await?;
        }
    }
    env.cluster.write(RECREATING, "allowReCreate: true\n")?;
    report.print("the cluster is up");
    report.run(&env, &scenarios.concat()).await;
    report.end()?;
    replacing::kept::every_write_names_its_version(&env.cluster).await?;
    env.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn opt_in_features_do_what_they_promise_and_no_more() -> anyhow::Result<()> {
    run(&[replacing::SCENARIOS, recreate::SCENARIOS, template_changes::SCENARIOS]).await
}
