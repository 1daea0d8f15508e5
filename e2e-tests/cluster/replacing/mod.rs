//! The StatefulSet is replaced by one with the desired templates. All scenarios run side by side in one cluster, each
//! in its own namespace.

mod complete;
pub(crate) mod denying;
pub(crate) mod kept;
pub(crate) mod refused;
pub(crate) mod trial;
pub(crate) mod webhook;
pub(crate) mod writer;

use serde_json::json;

use crate::world::runner::{Report, Scenario, scenarios};
use crate::world::{Options, World};

scenarios![World;
    complete::complete_set_is_replaced_and_nothing_else_changes,
    refused::denied_delete_and_create_prevent_a_replacement,
    refused::denied_mark_is_undone,
    refused::dependent_of_another_kind_prevents_a_replacement,
    refused::guard_that_is_bound_elsewhere_prevents_a_replacement,
    refused::webhook_that_changes_new_sets_prevents_a_replacement,
    writer::write_every_20_ms_is_not_lost,
];

/// Runs scenarios in a cluster with the rights to replace StatefulSets.
pub(crate) async fn run(scenarios: &[Scenario<World>]) -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default())
        .policy(json!({}))
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    report.print("the cluster is up");
    report.run(&env, scenarios).await;
    report.end()?;
    kept::every_write_names_its_version(&env.cluster).await?;
    env.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_keeps_pods_pvcs_and_acknowledged_writes() -> anyhow::Result<()> {
    run(SCENARIOS).await
}
