//! claim-rollout on a real cluster, as users see it: one file per subject. All scenarios run side by side in one
//! cluster, each in its own namespace with its own controller.

mod absent;
mod attributes;
mod bad_input;
mod budgets;
mod canary;
mod changed;
mod deleted;
mod escape;
mod evicted;
mod grow;
mod held;
mod in_motion;
mod infeasible;
mod killed;
mod kubectl;
mod metadata;
mod not_served;
mod obstacles;
mod on_delete;
mod paused;
mod repeated;
mod replaced;
mod scaled;
mod settled;
mod tools_wait;
mod two;
mod unreadable;

use serde_json::json;

use super::admission;
use crate::world::runner::{Report, scenarios};
use crate::world::served::APART;
use crate::world::{Options, World};

// The longest start first.
scenarios![World;
    changed::claim_with_removed_label_stalls_only_itself,
    attributes::class_change_that_fails_for_ever_stalls_at_its_deadline,
    absent::without_policy_and_guard_no_rollout_until_policy_is_back,
    evicted::pod_is_evicted_if_its_file_system_has_not_grown,
    obstacles::quota_with_room_for_two_of_three_writes_none_until_raised,
    two::leader_killed_during_rollout_is_succeeded_by_the_other,
    grow::three_claims_grow_highest_ordinal_first_without_restart,
    grow::second_target_during_rollout_of_first_is_reached,
    repeated::same_manifest_again_writes_nothing,
    grow::claim_larger_than_target_keeps_its_size,
    killed::controller_killed_after_any_write_successor_completes_it,
    deleted::claim_deleted_between_read_and_write_is_not_recreated_by_us,
    deleted::apply_with_uid_of_another_claim_fails_in_the_api_server,
    bad_input::any_posted_body_is_answered_and_the_next_request_served,
    canary::replica_below_partition_is_left_alone_until_lowered,
    paused::paused_rollout_finishes_current_replica_and_resumes,
    scaled::claim_of_a_replica_scaled_away_is_updated_last,
    metadata::labels_and_annotations_follow_the_target,
    attributes::class_and_size_in_one_apply_take_one_patch_per_claim,
    budgets::pvc_with_spent_modifications_waits_until_a_day_has_passed,
    obstacles::class_made_expandable_later_continues_the_rollout,
    obstacles::parallel_pods_one_failed_claim_stops_no_other,
    infeasible::driver_recovers_rollout_continues_and_nothing_is_lowered,
    escape::switch_to_on_claim_delete_opens_gate_without_controller,
    escape::withdrawal_during_rollout_releases_pods_and_lowers_no_claim,
    not_served::openkruise_is_awaited_and_other_sets_roll_out,
    replaced::set_deleted_during_rollout_leaves_claims_to_its_successor,
    two::two_controllers_at_once_write_like_one,
    infeasible::claim_lowered_by_hand_is_reported_and_not_written,
    infeasible::recover_smaller_target_lowers_growth_never_reached,
    kubectl::kubectl_shows_the_rollout_and_waits_for_its_end,
    on_delete::claim_follows_only_after_its_pod_is_deleted_by_hand,
    tools_wait::no_tool_reports_done_while_pods_wait_for_claims,
    settled::status_change_after_completion_reads_no_claim_and_no_pod,
    unreadable::change_of_newer_version_not_rolled_out_and_not_withdrawn,
    in_motion::max_in_motion_two_moves_two_replicas_and_default_moves_one,
];

/// Long enough that something else can happen during a rollout.
const EXPANSION_MILLIS: u64 = 400;

/// A cluster with everything that the scenarios share.
pub(crate) async fn build() -> anyhow::Result<World> {
    let options = Options::expanding_in(EXPANSION_MILLIS);
    World::with(options)
        .policy(json!({}))
        .but_in(&APART)
        .barriers()
        .build()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn scenarios_on_a_real_cluster_succeed() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = build().await?;
    report.print("the cluster is up");
    report.run(&env, &[SCENARIOS, admission::SCENARIOS].concat()).await;
    let kept = crate::world::invariants::every_namespace_keeps_them(&env.cluster);
    report.run_one("invariants::every_namespace_keeps_them", kept).await;
    report.end()?;
    env.stop().await
}
