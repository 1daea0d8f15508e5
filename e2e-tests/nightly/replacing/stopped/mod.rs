//! Replacements that are disturbed at each of their writes: the controller is killed, a user deletes the StatefulSet or
//! its namespace, another controller works on the same. A [barrier](crate::world::barrier) stops the controller at
//! exactly one write.

mod deleted;
mod held;
mod killed;
mod taken_back;

use serde_json::json;

use crate::cluster::replacing::kept::every_write_names_its_version;
use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};

scenarios![World;
    killed::controller_killed_before_any_write_successor_finishes,
    deleted::set_deleted_at_any_write_stays_deleted_or_is_denied,
    deleted::namespace_deleted_at_any_write_stays_deleted,
];

scenarios![LAST: World;
    taken_back::set_taken_back_at_any_write_loses_nothing,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_disturbed_at_any_write_ends() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default())
        .policy(json!({}))
        .rights(&["replace-sets.yaml"])
        .barriers()
        .build()
        .await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    // It stops a program that all others need.
    report.run(&env, LAST).await;
    report.end()?;
    every_write_names_its_version(&env.cluster).await?;
    env.stop().await
}
