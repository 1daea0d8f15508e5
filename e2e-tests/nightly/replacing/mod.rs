//! Replacements that meet other tools, commands and webhooks, or are disturbed at each of their writes.

mod commands;
mod foreign;
mod retained;
mod stopped;
mod tools;

use crate::cluster::opt_in::run;
use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    commands::plan_shows_what_prevents_a_replacement,
    commands::replace_without_a_controller_keeps_pods_and_claims,
    commands::replace_beside_a_controller_replaces_once,
    foreign::changed_template_of_the_new_set_restarts_no_pod,
    retained::retention_is_guarded_and_claims_without_pods_stay,
    tools::gitops_tools_find_nothing_to_do,
    tools::rollout_history_and_undo_work_as_before,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacement_beside_other_tools_keeps_everything() -> anyhow::Result<()> {
    run(&[SCENARIOS]).await
}
