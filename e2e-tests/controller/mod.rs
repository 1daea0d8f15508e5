//! The controller as a program in a cluster: what it keeps, what it waits for, who leads. All scenarios run side by
//! side in one cluster; `SCENARIO=history cargo test --test e2e controller` runs those with `history` in their names.

mod history;
mod inquire;
mod lease;
mod rights;
mod settings;
mod unblock;

use crate::cluster::Options;
use crate::play::{Report, scenarios};
use crate::stage::Stage;

scenarios![Stage;
    history::each_wish_is_kept_and_no_statefulset_takes_it_for_its_own,
    lease::one_of_two_works_and_the_other_takes_over_however_the_first_ends,
    settings::a_policy_object_with_another_setting_is_reported,
    unblock::a_quota_a_limit_or_a_class_that_gives_way_is_used_at_once_although_the_backoff_is_long,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_controller_as_a_program_does_what_its_operators_expect() -> anyhow::Result<()> {
    let mut report = Report::new();
    let stage = Stage::build(Options::default()).await?;
    report.say("the cluster is up");
    report.play(&stage, SCENARIOS).await;
    let name = "inquire::what_the_driver_says_of_a_claim_that_takes_long_is_in_the_rollout";
    let play = inquire::what_the_driver_says_of_a_claim_that_takes_long_is_in_the_rollout(&stage);
    report.play_one(name, play).await;
    let play = lease::an_api_server_that_is_away_is_waited_for(&stage);
    report
        .play_one("lease::an_api_server_that_is_away_is_waited_for", play)
        .await;
    // Runs last: by now the other controllers have used all rights, and their watches have ended.
    report
        .play_one(
            "rights::what_deploy_gives_is_what_is_used",
            rights::what_deploy_gives_is_what_is_used(&stage),
        )
        .await;
    report.end()?;
    stage.strike().await
}
