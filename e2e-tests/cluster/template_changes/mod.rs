//! Templates are added, removed and renamed (`templateChanges: Allow`). All scenarios run side by side in one cluster,
//! each in its own namespace.

mod added;
mod removed;
mod trial;
mod wedged;

use serde_json::json;

use crate::cluster::replacing::kept::every_write_names_its_version;
use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};

scenarios![World;
    added::pods_are_evicted_one_at_a_time_in_ascending_order,
    added::pods_wait_for_the_replacement_and_restart_once,
    removed::removed_template_restarts_nothing_and_keeps_its_claims,
    removed::renamed_template_leaves_its_claims,
    wedged::wedge_made_by_hand_is_repaired,
    wedged::budget_and_pause_are_respected,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn templates_are_added_removed_and_renamed() -> anyhow::Result<()> {
    let mut report = Report::new();
    let settings = json!({"templateChanges": "Allow"});
    let env = World::with(Options::default())
        .policy(settings)
        .rights(&["replace-sets.yaml", "evict-pods.yaml"])
        .build()
        .await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    report.end()?;
    every_write_names_its_version(&env.cluster).await?;
    env.stop().await
}
