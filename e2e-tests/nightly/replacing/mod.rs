//! Replacements that meet backups, outages, other tools and commands, or are disturbed at each of their writes.

mod backup;
mod commands;
mod crowd;
mod foreign;
mod intruder;
mod outage;
mod retained;
mod stopped;
mod tools;
mod undo;

use crate::cluster::opt_in::run;
use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    backup::set_from_a_backup_of_a_replacement_is_restored,
    commands::plan_shows_what_prevents_a_replacement,
    commands::replace_without_a_controller_keeps_pods_and_claims,
    commands::replace_beside_a_controller_replaces_once,
    foreign::changed_template_of_the_new_set_restarts_no_pod,
    foreign::create_with_fewer_replicas_is_denied_and_restarts_no_pod,
    foreign::pods_that_were_scaled_away_come_back_with_their_claims,
    foreign::set_of_somebody_else_with_the_same_templates_is_as_good,
    outage::replacement_ends_while_the_policy_does_not_answer,
    retained::retention_is_guarded_and_claims_without_pods_stay,
    tools::argo_cd_finds_nothing_to_do,
    tools::flux_finds_nothing_to_do,
    tools::helm_3_and_4_find_nothing_to_do,
    tools::kubectl_finds_nothing_to_do,
    tools::rollout_history_and_undo_work_as_before,
    tools::opentofu_and_pulumi_find_nothing_to_do,
    undo::sizes_stay_and_labels_go_back_after_a_replacement,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_beside_other_tools_keeps_everything() -> anyhow::Result<()> {
    run(&[SCENARIOS]).await
}
