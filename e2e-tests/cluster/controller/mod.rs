//! The controller as a program in a cluster: what it keeps, what it waits for, who leads. All scenarios run side by
//! side in one cluster.

mod history;
mod inquire;
pub(crate) mod lease;
mod rights;
mod settings;
mod unblock;

use serde_json::json;

use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};

scenarios![World;
    history::every_target_is_kept_and_not_adopted_by_a_statefulset,
    lease::one_of_two_leads_and_the_other_takes_over,
    settings::policy_object_with_other_setting_is_reported,
    unblock::removed_obstacle_is_used_at_once_despite_long_backoff,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn controller_program_does_what_operators_expect() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default()).policy(json!({})).build().await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    let name = "inquire::driver_error_of_slow_claim_is_in_the_claimrollout";
    let scenario = inquire::driver_error_of_slow_claim_is_in_the_claimrollout(&env);
    report.run_one(name, scenario).await;
    // Runs last: by now the other controllers have used all rights, and their watches have ended.
    report
        .run_one(
            "rights::rights_of_deploy_are_the_used_ones",
            rights::rights_of_deploy_are_the_used_ones(&env),
        )
        .await;
    report.end()?;
    env.stop().await
}
