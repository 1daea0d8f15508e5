//! Rollouts that wait for a minute and more, in the same cluster as those of the push ring.

mod unanswered;
mod without;

use crate::cluster::scenarios::build;
use crate::world::namespace::Environment;
use crate::world::runner::{Report, scenarios};

scenarios![Environment;
    without::without_controller_no_pod_runs_ahead_or_is_lost,
    without::without_policy_pods_go_on_and_claims_follow,
    without::without_both_it_is_a_plain_statefulset,
    unanswered::one_pvc_never_answered_is_reported_and_others_grow,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn slow_scenarios_on_a_real_cluster_succeed() -> anyhow::Result<()> {
    let mut report = Report::new();
    let (env, served) = build().await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    served.stop().await?;
    report.end()?;
    env.installation.stop().await?;
    env.cluster.stop();
    Ok(())
}
