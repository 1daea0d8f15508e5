//! claim-rollout on a real cluster, as users see it: one file per subject. All scenarios run side by side in one
//! cluster, each in its own namespace with its own controller; `SCENARIO=grow cargo test --test e2e scenarios` runs
//! those with `grow` in their names.

mod absent;
pub(crate) mod again;
mod asynchronous;
mod attributes;
mod available;
mod bad_input;
mod barrier;
mod beside;
mod budgets;
mod canary;
mod changed;
mod cost;
mod deleted;
mod escape;
mod full_disk;
mod grow;
mod in_motion;
mod infeasible;
mod killed;
mod kubelet;
mod lockstep;
mod metadata;
mod node;
mod obstacles;
mod on_delete;
mod ordinals;
mod paused;
mod pods;
mod policy_down;
mod promises;
mod quota;
mod refused;
mod repeated;
mod replaced;
mod rights;
mod scaled;
pub(crate) mod scene;
mod served;
mod settled;
mod tools_wait;
mod two;
mod undone;
mod unreadable;
mod unready;
mod waits;
mod without;
mod words;
mod written;

use claim_rollout::webhook::Running;
use serde_json::json;

use crate::cluster::{Cluster, Options};
use crate::installation::Installation;
use crate::play::{Report, scenarios};
use barrier::Barriers;
use scene::Stage;
use served::APART;

scenarios![Stage;
    two::a_leader_that_is_killed_in_the_middle_is_followed_by_the_other,
    grow::three_claims_grow_highest_ordinal_first_and_no_pod_restarts,
    grow::a_second_wish_in_the_middle_of_the_first_is_the_one_that_is_reached,
    refused::what_cannot_change_is_refused_with_its_path,
    repeated::the_same_manifest_again_writes_nothing,
    beside::scale_and_label_during_a_rollout_keep_the_record_and_a_new_replica_follows,
    beside::a_claim_that_is_larger_than_the_wish_keeps_its_size,
    lockstep::image_and_size_in_one_apply_go_claim_before_pod_replica_by_replica,
    killed::a_controller_killed_after_any_write_is_followed_by_one_that_ends_the_rollout,
    deleted::a_claim_that_is_deleted_between_read_and_write_is_never_made_by_us,
    deleted::an_apply_with_the_uid_of_another_claim_is_refused_by_the_api_server,
    rights::who_may_not_change_claims_may_not_change_templates,
    bad_input::whatever_is_posted_is_answered_and_the_next_request_is_served,
    canary::a_canary_waits_for_its_claim_and_so_does_every_other_pod_when_the_partition_is_lowered,
    canary::below_a_partition_of_1_replica_0_is_left_alone_until_it_is_lowered,
    asynchronous::pods_do_not_wait_for_claims_and_claims_not_for_pods,
    paused::a_paused_rollout_ends_what_is_under_way_and_goes_on_when_it_may,
    scaled::a_replica_that_is_gone_is_left_alone_until_it_is_back,
    scaled::without_replicas_it_is_complete_and_the_rest_follows_when_they_are_back,
    ordinals::ordinals_from_5_two_templates_and_a_selector_of_expressions_are_as_any_other,
    available::the_next_claims_wait_until_a_new_pod_is_available_and_claims_alone_do_not,
    metadata::labels_and_annotations_come_change_and_go_with_the_wishes,
    unready::a_pod_that_never_becomes_ready_keeps_no_claim_from_growing,
    unready::a_pod_that_keeps_others_from_being_replaced_has_its_claim_grown_first,
    unready::a_new_pod_that_is_not_ready_keeps_the_next_claim_as_it_is,
    node::a_claim_whose_file_system_has_not_grown_keeps_the_next_one_waiting,
    node::where_pods_are_replaced_anyway_the_pod_goes_first_and_the_next_claim_waits_for_the_node,
    node::a_pod_is_evicted_when_its_node_has_not_grown_the_file_system,
    node::errors_of_attempts_that_are_repeated_keep_no_pod_and_stall_nothing,
    changed::a_claim_whose_label_is_taken_away_stalls_and_disturbs_nobody,
    changed::a_claim_whose_size_is_put_back_is_never_done,
    changed::a_claim_whose_class_is_dropped_is_never_done,
    attributes::class_and_size_in_one_apply_reach_each_claim_in_one_patch,
    obstacles::a_quota_with_room_for_two_of_three_keeps_all_as_they_are_until_it_is_raised,
    obstacles::a_quota_that_is_used_up_on_the_way_stops_the_rollout_and_one_that_is_raised_lets_it_go_on,
    budgets::of_two_sets_no_more_pvcs_are_in_motion_than_their_class_allows,
    budgets::a_pvc_that_was_modified_often_enough_waits_until_a_day_has_passed,
    quota::use_that_goes_up_and_down_makes_nobody_try_more_often_or_tell_it_again,
    obstacles::a_class_that_is_made_expandable_later_lets_the_rollout_go_on,
    obstacles::with_parallel_pods_one_refused_claim_does_not_stop_the_others,
    obstacles::with_ordered_pods_one_refused_claim_stops_those_below_it,
    infeasible::when_the_driver_can_after_all_the_rollout_goes_on_and_nothing_is_lowered,
    escape::a_switch_to_on_claim_delete_opens_the_gate_with_the_controller_stopped,
    escape::a_withdrawal_in_the_middle_lets_the_pods_go_and_lowers_no_claim,
    replaced::a_pod_that_is_deleted_in_the_middle_comes_back_and_changes_nothing,
    replaced::a_set_that_is_deleted_in_the_middle_leaves_its_claims_to_the_next_one_of_its_name,
    two::two_controllers_at_once_write_what_one_would,
    infeasible::under_recover_a_smaller_wish_takes_back_a_growth_that_was_never_reached,
    infeasible::under_recover_a_withdrawal_takes_back_what_was_not_reached,
    infeasible::a_driver_that_tries_again_and_again_stalls_nothing_and_is_quoted_once,
    words::kubectl_tells_what_is_going_on_and_waits_for_its_end,
    on_delete::a_claim_follows_when_its_pod_was_deleted_by_hand_and_not_before,
    on_delete::what_was_deleted_by_hand_counts_although_nobody_has_seen_it,
    absent::where_nobody_judges_nothing_is_rolled_out_until_the_policy_is_back,
    absent::where_the_guard_judges_the_rollout_goes_on_without_the_policy,
    tools_wait::none_says_done_while_pods_wait_for_their_claims,
    full_disk::at_any_ordinal_of_ordered_pods_the_rollout_ends,
    full_disk::of_the_lowest_of_parallel_pods_the_rollout_ends,
    without::the_controller_no_pod_runs_ahead_and_none_is_lost,
    without::the_policy_pods_go_on_and_claims_follow,
    without::both_it_is_a_plain_statefulset,
    pods::that_are_scaled_away_go_and_newcomers_come,
    pods::that_failed_or_are_disrupted_go,
    pods::wait_for_either_account_and_for_nobody_else,
    cost::one_lookup_where_nothing_is_staged_and_no_call_without_claims,
    settled::a_status_change_after_the_end_reads_no_claim_and_no_pod,
    unreadable::what_a_newer_version_staged_is_neither_rolled_out_nor_withdrawn,
    in_motion::two_at_a_time_where_the_set_says_so_and_one_where_it_does_not,
    undone::a_controller_whose_account_is_not_named_stalls_and_says_so,
];

/// Long enough that something else can happen during a rollout.
const EXPANSION_MILLIS: u64 = 400;

/// A cluster with everything that the scenarios share.
async fn build() -> anyhow::Result<(Stage, Running)> {
    let cluster = Cluster::start(Options::expanding_in(EXPANSION_MILLIS)).await?;
    let installation = Installation::but_in(&APART, &cluster, json!({})).await?;
    let client = cluster.client().await?;
    let barriers = Barriers::default();
    let served = barriers.install(&cluster).await?;
    let stage = Stage {
        cluster,
        installation,
        client,
        barriers,
    };
    Ok((stage, served))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_users_do_to_sets_goes_as_they_are_told() -> anyhow::Result<()> {
    let mut report = Report::new();
    let (stage, served) = build().await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    // Alone and last, because it removes the policy.
    let Stage {
        cluster,
        installation,
        client,
        ..
    } = stage;
    let name = "policy_down::without_the_policy_unrelated_updates_pass_and_template_changes_are_refused";
    let play = policy_down::without_the_policy_unrelated_updates_pass(&cluster, installation, &client);
    report.play_one(name, play).await;
    served.stop().await?;
    report.end()?;
    cluster.stop();
    Ok(())
}
