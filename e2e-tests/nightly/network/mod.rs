//! The controller as a program over a faulty network: both ends are real, the network between them is a proxy. Each
//! scenario is one rollout of a StatefulSet of three replicas whose size and image change in one apply, with its own
//! namespace, controller and proxy. Something fails in the middle, and then works again. The end is always that of an
//! undisturbed rollout, and everything was written once.

mod absent;
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

use serde_json::json;

use crate::world::runner::{Report, scenarios};
use crate::world::{Options, World};
use rows::ROWS;

/// Long enough that something can fail during a rollout.
const EXPANSION_MILLIS: u64 = 1500;

// The longest scenarios start first.
scenarios![World;
    stays::pvcs_never_answered_are_reported_and_each_is_tried,
    stays::rollout_with_denied_report_completes,
    outages::silent_watches_on_dead_connections_are_restarted,
    outages::bytes_delayed_beyond_all_timeouts_are_harmless,
    leaders::leader_without_renewal_ends_before_its_successor_starts,
    leaders::disconnected_leader_is_succeeded_and_its_writes_are_lost,
    leaders::stopped_leader_writes_nothing_when_continued,
    leaders::late_write_is_given_up_with_the_lease,
    leaders::leader_with_unanswered_renewal_retries_and_continues,
    outages::failing_list_is_retried_with_growing_pauses,
    outages::late_events_only_slow_the_rollout_down,
    outages::controller_retries_slowly_while_connections_are_refused,
    outages::repeatedly_reset_connections_are_reopened,
    outages::bytes_delayed_for_a_while_are_harmless,
    outages::watch_cut_off_within_an_event_is_restarted,
    outages::watch_ended_by_410_restarts_with_a_list,
    outages::watch_without_bookmarks_resumes_where_it_ended,
];

/// All scenarios that run side by side, by name.
fn all_scenarios(env: &World) -> anyhow::Result<Vec<(String, LocalBoxFuture<'_, anyhow::Result<()>>)>> {
    let scenarios = SCENARIOS
        .iter()
        .map(|(name, scenario)| ((*name).to_owned(), scenario(env)));
    let seeds = schedules::seeds()?.map(|seed| {
        (
            format!("schedules::seed-{seed}"),
            schedules::run(env, seed).boxed_local(),
        )
    });
    let rows = ROWS
        .iter()
        .map(|row| (format!("rows::{}", row.name), row.run(env).boxed_local()));
    Ok(scenarios.chain(rows).chain(seeds).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faulty_network_rollout_ends_like_an_undisturbed_one() -> anyhow::Result<()> {
    let mut report = Report::new();
    let env = World::with(Options::expanding_in(EXPANSION_MILLIS))
        .policy(json!({}))
        .build()
        .await?;
    report.print("the cluster is up");
    report.run_all(all_scenarios(&env)?).await;
    report.end()?;
    env.stop().await
}
