//! The controller as a program over a faulty network: both ends are real, the network between them is a proxy. Each
//! scenario is one rollout of a StatefulSet of three replicas whose size and image change in one apply, with its own
//! namespace, controller and proxy. Something fails in the middle, and then works again. The end is always that of an
//! undisturbed rollout, and everything was written once.
//!
//! `SCENARIO=seed- cargo test --test e2e network` runs those with `seed-` in their names.

mod asked;
mod leaders;
mod outages;
mod proxy;
mod rows;
mod schedules;
mod script;
mod stays;
mod stream;
mod trial;
mod wire;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::cluster::Options;
use crate::play::{Report, scenarios};
use rows::ROWS;
use trial::Stage;

/// Long enough that something can fail during a rollout.
const EXPANSION_MILLIS: u64 = 1500;

// The longest scenarios start first.
scenarios![Stage;
    stays::pvcs_that_are_never_answered_are_told_and_each_is_tried,
    stays::rollout_whose_report_is_denied_for_ever_comes_to_its_end,
    outages::watches_that_fell_silent_with_their_connections_are_noticed,
    outages::what_was_held_up_for_longer_than_anybody_waits_comes_and_harms_nothing,
    leaders::a_leader_that_cannot_renew_its_lease_ends_before_the_next_one_begins,
    leaders::a_leader_that_reaches_nobody_any_more_is_followed_and_what_it_kept_is_lost,
    leaders::a_leader_that_was_halted_writes_nothing_when_it_goes_on,
    leaders::a_write_that_is_late_is_given_up_with_the_lease,
    leaders::a_leader_whose_renewal_is_never_answered_asks_again_and_goes_on,
    outages::a_list_that_fails_is_asked_for_less_and_less_often,
    outages::events_that_come_seconds_late_make_it_slow_and_nothing_else,
    outages::while_connections_are_refused_it_asks_now_and_then_and_goes_on_when_they_are_not,
    outages::connections_that_are_reset_again_and_again_are_made_again,
    outages::what_was_held_up_for_a_while_comes_and_harms_nothing,
    outages::a_watch_that_is_cut_off_in_the_middle_of_an_event_is_begun_again,
    outages::a_watch_that_ends_with_gone_is_begun_with_a_list,
    outages::without_bookmarks_a_watch_that_ended_goes_on_where_it_was,
];

/// All scenarios that run side by side, by name.
fn plays(stage: &Stage) -> anyhow::Result<Vec<(String, LocalBoxFuture<'_, anyhow::Result<()>>)>> {
    let scenarios = SCENARIOS
        .iter()
        .map(|(name, scenario)| ((*name).to_owned(), scenario(stage)));
    let seeds = schedules::seeds()?.map(|seed| {
        (
            format!("schedules::seed-{seed}"),
            schedules::play(stage, seed).boxed_local(),
        )
    });
    let rows = ROWS
        .iter()
        .map(|row| (format!("rows::{}", row.name), row.play(stage).boxed_local()));
    Ok(scenarios.chain(rows).chain(seeds).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_the_network_does_a_rollout_ends_as_if_nothing_had_happened() -> anyhow::Result<()> {
    let mut report = Report::new();
    let stage = Stage::new(crate::stage::Stage::build(Options::expanding_in(EXPANSION_MILLIS)).await?);
    report.say("the cluster is up");
    report.play_all(plays(&stage)?).await;
    report.end()?;
    stage.house.strike().await
}
