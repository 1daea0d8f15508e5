//! The commands of `claim-rollout` against a real cluster: their output is compared with what happens. All scenarios
//! run side by side in one cluster, together with the examples and with those of the controller.

mod documented;
mod dry_runs;
mod files;
pub(crate) mod plans;
mod reaching;
mod retrying;
mod shown;
mod typed;
mod watching;
mod withdrawal;

use super::{controller, examples};
use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};
pub(crate) use typed::{items, prepare, run};

scenarios![World;
    documented::document_shows_command_output,
    plans::rollout_follows_the_plan,
    plans::plan_names_limit_range_as_the_api_server_does,
    plans::plan_reports_missing_right_on_claims,
    dry_runs::plan_has_the_denial_of_another_policy,
    dry_runs::plan_of_server_side_apply_names_conflicts,
    files::plan_from_files_equals_plan_from_cluster,
    withdrawal::history_shows_every_target_and_undo_returns_to_it,
    watching::status_shows_claims_and_waiting_pods_until_complete,
    reaching::commands_work_behind_a_proxy,
    reaching::watch_continues_after_an_outage,
    reaching::commands_act_as_others,
    reaching::kubectl_and_bash_complete_names_of_sets,
    reaching::status_is_as_wide_as_the_terminal,
    retrying::retry_ends_the_pause_after_denied_writes,
    shown::document_shows_drift_and_watch_output,
    shown::document_shows_review_output,
    withdrawal::smaller_target_shrinks_no_pvc,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn command_output_matches_what_happens() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::expanding_in(300)).shipped_policy().build().await?;
    report.print("the cluster is up");
    let scenarios = [controller::SCENARIOS, SCENARIOS, examples::SCENARIOS].concat();
    report.run(&env, &scenarios).await;
    controller::alone(&mut report, &env).await;
    report.end()?;
    env.stop().await
}
