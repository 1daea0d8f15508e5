//! `update-policy: ReCreate`: PVCs that cannot follow in place are deleted and created anew, one replica at a time. All
//! scenarios run side by side in one cluster, each in its own namespace.

mod aborted;
mod complete;
pub(crate) mod snapshots;
mod stopped;
pub(crate) mod trial;
mod waits;

use serde_json::json;

use crate::world::policy_host::documents;
use crate::world::runner::{Report, Scenario, scenarios};
use crate::world::{Options, World};

scenarios![World;
    complete::class_is_changed_one_replica_after_the_other,
    complete::image_and_class_in_one_apply_restart_each_pod_once,
    waits::nothing_is_deleted_while_another_pod_is_not_ready,
    waits::nothing_is_deleted_while_the_budget_allows_no_eviction,
    waits::nothing_is_deleted_without_the_rights_or_the_flag,
    stopped::pod_that_does_not_come_back_stops_it,
    stopped::claim_of_another_class_is_no_victim_of_a_growth,
    stopped::only_replica_is_not_deleted,
    aborted::mark_goes_with_a_pause_and_with_the_withdrawal,
    snapshots::snapshot_of_an_earlier_staging_does_not_count,
];

/// The settings of the controllers, a file in the folder of the cluster.
const SETTINGS: &str = "recreate.yaml";

/// Runs scenarios in a cluster with the rights and the setting that ReCreate needs.
pub(crate) async fn run(scenarios: &[Scenario<World>]) -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default())
        .policy(json!({"allowReCreate": true}))
        .barriers()
        .build()
        .await?;
    for document in documents("recreate.yaml")? {
        // Each namespace binds the role, but for one.
        if document["kind"] == "ClusterRole" {
            env.cluster.done(&["apply", "-f", "-"], &document.to_string()).await?;
        }
    }
    std::fs::write(env.cluster.folder().join(SETTINGS), "allowReCreate: true\n")?;
    report.print("the cluster is up");
    report.run(&env, scenarios).await;
    report.end()?;
    env.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_are_created_anew_one_replica_at_a_time() -> anyhow::Result<()> {
    run(SCENARIOS).await
}
