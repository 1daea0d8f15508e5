//! The commands of `claim-rollout` against a real cluster: their output is compared with what happens. All scenarios
//! run side by side in one cluster.

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

use serde_json::json;

use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};
pub(crate) use typed::{items, prepare, run};

scenarios![World;
    documented::document_shows_command_output,
    plans::rollout_follows_the_plan,
    plans::new_image_pods_replaced_after_their_claims_as_planned,
    plans::plan_names_too_small_quota_as_the_controller_does,
    plans::plan_names_limit_range_as_the_api_server_does,
    plans::plan_reports_missing_right_on_claims,
    dry_runs::plan_has_the_denial_of_another_policy,
    dry_runs::plan_with_zero_values_restarts_no_pod,
    dry_runs::plan_of_one_more_replica_goes_through,
    dry_runs::plan_without_the_right_to_patch_is_decided_here,
    dry_runs::plan_of_server_side_apply_names_conflicts,
    dry_runs::plan_of_a_new_set_creates_nothing,
    files::plan_from_files_equals_plan_from_cluster,
    files::impossible_plan_exits_with_2,
    withdrawal::withdrawal_during_rollout_names_updated_claims,
    withdrawal::history_shows_every_target_and_undo_returns_to_it,
    watching::status_shows_claims_and_waiting_pods_until_complete,
    watching::status_shows_several_sets_and_fails_for_a_missing_one,
    reaching::commands_work_behind_a_proxy,
    reaching::watch_continues_after_an_outage,
    reaching::commands_act_as_others,
    reaching::kubectl_and_bash_complete_names_of_sets,
    reaching::exit_codes_follow_the_rollout,
    reaching::status_is_as_wide_as_the_terminal,
    retrying::retry_ends_the_pause_after_denied_writes,
    shown::document_shows_drift_and_watch_output,
    shown::document_shows_review_output,
    withdrawal::smaller_target_shrinks_no_pvc,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn command_output_matches_what_happens() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::expanding_in(300))
        .policy(json!({}))
        .build()
        .await?;
    report.print("the cluster is up");
    report.run(&env, SCENARIOS).await;
    report.end()?;
    env.stop().await
}
