//! `update-policy: ReCreate`: PVCs that cannot follow in place are deleted and created anew, one replica at a time. All
//! scenarios run side by side in one cluster, each in its own namespace.

mod aborted;
mod complete;
mod environment;
mod killed;
pub(crate) mod snapshots;
mod stopped;
pub(crate) mod trial;
mod waits;

use crate::world::runner::{Report, Scenario, scenarios};
pub(crate) use environment::Environment;

scenarios![Environment;
    complete::class_is_changed_one_replica_after_the_other,
    complete::smaller_size_of_parallel_pods_is_reached,
    complete::image_and_class_in_one_apply_restart_each_pod_once,
    complete::larger_size_is_reached_in_place,
    waits::nothing_is_deleted_while_another_pod_is_not_ready,
    waits::nothing_is_deleted_while_the_budget_allows_no_eviction,
    waits::nothing_is_deleted_without_the_rights_or_the_flag,
    stopped::pod_that_does_not_come_back_stops_it,
    stopped::claim_created_without_the_policy_is_not_deleted_again,
    stopped::claim_of_another_class_is_no_victim_of_a_growth,
    stopped::only_replica_is_not_deleted,
    aborted::paused_rollout_finishes_the_replica_that_has_begun,
    aborted::withdrawal_deletes_nothing_more,
    aborted::mark_goes_with_a_pause_and_with_the_withdrawal,
    killed::controller_killed_before_any_write_successor_finishes,
    snapshots::snapshot_of_an_earlier_staging_does_not_count,
];

/// Runs scenarios in such a cluster.
pub(crate) async fn run(scenarios: &[Scenario<Environment>]) -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = environment::build().await?;
    report.print("the cluster is up");
    report.run(&env, scenarios).await;
    report.end()?;
    env.installation.stop().await?;
    env.cluster.stop();
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_are_created_anew_one_replica_at_a_time() -> anyhow::Result<()> {
    run(SCENARIOS).await
}
