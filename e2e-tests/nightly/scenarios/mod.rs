//! Rollouts that wait for minutes, need an outage, or have an unusual StatefulSet.

mod offline_only;
mod ordinals;
mod without;

use crate::cluster::scenarios::build;
use crate::world::World;
use crate::world::runner::{Report, scenarios};

scenarios![World;
    without::without_controller_no_pod_runs_ahead_or_is_lost,
    without::without_policy_pods_go_on_and_claims_follow,
    ordinals::ordinals_from_5_two_templates_and_expressions_roll_out,
    offline_only::one_outage_grows_all_volumes_and_completes_once,
    offline_only::one_outage_with_file_systems_completes_after_the_mount,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rarer_scenarios_on_a_real_cluster_succeed() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = build().await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    report.end()?;
    env.stop().await
}
