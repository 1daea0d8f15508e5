//! The controller as a program over a faulty network: both ends are real, the network between them is a proxy. Each
//! scenario is one rollout of a StatefulSet of three replicas whose size and image change in one apply, with its own
//! namespace, controller and proxy. Something fails in the middle, and then works again. At the end the rollout is
//! complete, and everything was written once.

mod asked;
mod faults;
mod leaders;
mod proxy;
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
use faults::ROWS;

/// Long enough that something can fail during a rollout.
const EXPANSION_MILLIS: u64 = 1500;

// The longest scenarios start first.
scenarios![World;
    stays::rollout_with_denied_report_completes,
    leaders::leader_without_renewal_ends_before_its_successor_starts,
    leaders::disconnected_leader_is_succeeded_and_its_writes_are_lost,
    leaders::stopped_leader_writes_nothing_when_continued,
    leaders::late_write_is_given_up_with_the_lease,
    leaders::leader_with_unanswered_renewal_retries_and_continues,
];

/// All scenarios that run side by side, by name.
fn all_scenarios(env: &World) -> anyhow::Result<Vec<(String, LocalBoxFuture<'_, anyhow::Result<()>>)>> {
    let scenarios = SCENARIOS
        .iter()
        .map(|(name, scenario)| ((*name).to_owned(), scenario(env)));
    let seeds = faults::seeds()?.map(|seed| {
        let run = faults::scheduled(env, seed).boxed_local();
        (format!("schedules::seed-{seed}"), run)
    });
    let rows = ROWS
        .iter()
        .map(|row| (format!("rows::{}", row.name), row.run(env).boxed_local()));
    Ok(scenarios.chain(rows).chain(seeds).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn faulty_network_rollout_completes_and_writes_once() -> anyhow::Result<()> {
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
