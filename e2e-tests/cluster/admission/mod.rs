//! Requests of users and controllers to an API server with the policy behind its webhooks. One file per behaviour. All
//! scenarios run side by side in one cluster. Each has its own namespaces and its own policy-server, so that a scenario
//! can count the requests.

mod gate;
mod invisible;
mod native;
mod new_claims;
mod retention;
mod shapes;
mod unrelated;
mod verbs;

use crate::world::runner::{Report, Scenario, scenarios};
use crate::world::{Options, World};

scenarios![World;
    new_claims::new_replica_after_staged_growth_gets_claim_at_target,
    new_claims::without_claim_policy_new_claim_starts_small_and_is_expanded,
    gate::image_and_size_in_one_apply_keep_every_pod_until_released,
    gate::pods_that_need_not_wait_are_replaced_at_once,
    retention::scale_down_and_delete_name_the_claims_that_are_deleted,
    invisible::unchanged_templates_same_results_as_without_the_policy,
    native::field_of_the_kep_is_dropped_and_the_change_is_staged,
    unrelated::absent_policy_fails_only_template_changes_and_staged_sets,
    verbs::every_verb_stages_growth_and_dry_run_prints_the_same,
];

/// Runs scenarios in such a cluster.
pub(crate) async fn run(scenarios: &[Scenario<World>]) -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::default()).build().await?;
    report.print("the cluster is up");
    report.run(&env, scenarios).await;
    report.end()?;
    env.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_of_users_have_the_intended_effect() -> anyhow::Result<()> {
    run(SCENARIOS).await
}
