//! Rollouts that wait for minutes or need an outage.

mod offline_only;
mod without;

use crate::cluster::scenarios::build;
use crate::world::World;
use crate::world::runner::{Report, scenarios};

scenarios![World;
    without::without_policy_pods_go_on_and_claims_follow,
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
