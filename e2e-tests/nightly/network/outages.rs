//! Connections that are refused, reset, delayed or lost, and watches that end, fall silent or lag.

use std::time::Duration;

use anyhow::ensure;
use tokio::time::sleep;

use super::asked::Asked;
use super::script::{Fault, Rule, To};
use super::trial::Trial;
use crate::world::World;

/// An unanswered request is given up after this time.
const CALL: Duration = Duration::from_secs(15);
/// A silent watch is restarted after this time: a minute, and a few seconds.
const SILENCE: Duration = Duration::from_secs(70);
/// The longest pause of a reconcile or a watch after an outage of ten seconds.
const PAUSE: Duration = Duration::from_secs(20);
/// The most requests per second of a controller of one StatefulSet while the API server is away.
const RESTLESS: f64 = 5.0;

/// A rollout in which one PVC has been written.
async fn in_the_middle<'a>(env: &'a World, namespace: &str) -> anyhow::Result<Trial<'a>> {
    let trial = Trial::begin(env, namespace).await?;
    trial.roll_out().await?;
    trial.until_asked(Asked::Claim, 1).await?;
    Ok(trial)
}

/// The number of requests without an answer, from the metrics of the controller.
fn unanswered(trial: &Trial<'_>) -> anyhow::Result<u32> {
    let (_, metrics) = trial.controller()?.get("/metrics")?;
    let count = "claim_rollout_request_failures_total{cause=\"unanswered\"} ";
    let count = metrics.lines().find_map(|line| line.strip_prefix(count));
    Ok(count.unwrap_or("0").parse()?)
}

pub(super) async fn controller_retries_slowly_while_connections_are_refused(env: &World) -> anyhow::Result<()> {
    const OUTAGE: Duration = Duration::from_secs(10);
    let trial = in_the_middle(env, "network-refused").await?;
    trial.network.wire.stop_listening();
    let before = unanswered(&trial)?;
    sleep(OUTAGE).await;
    let asked = unanswered(&trial)? - before;
    println!("network-refused: {asked} requests in {OUTAGE:?}");
    let rate = f64::from(asked) / OUTAGE.as_secs_f64();
    ensure!(
        (0.1..RESTLESS).contains(&rate),
        "{rate} requests a second\n{}",
        trial.ns.log()
    );
    trial.recovers(PAUSE).await.map(drop)
}

pub(super) async fn repeatedly_reset_connections_are_reopened(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-reset").await?;
    for _ in 0..10 {
        trial.network.wire.reset();
        sleep(Duration::from_millis(700)).await;
    }
    trial.recovers(PAUSE).await.map(drop)
}

pub(super) async fn bytes_delayed_for_a_while_are_harmless(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-held").await?;
    trial.network.wire.hold();
    sleep(Duration::from_secs(10)).await;
    trial.recovers(PAUSE).await.map(drop)
}

/// Requests in progress have been given up by then.
pub(super) async fn bytes_delayed_beyond_all_timeouts_are_harmless(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-held-long").await?;
    trial.network.wire.hold();
    sleep(CALL * 2).await;
    trial.recovers(CALL * 2 + PAUSE).await.map(drop)
}

pub(super) async fn silent_watches_on_dead_connections_are_restarted(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-forgotten").await?;
    trial.network.wire.forget();
    // The next requests may use one dead connection after the other.
    trial.recovers(SILENCE).await.map(drop)
}

pub(super) async fn watch_cut_off_within_an_event_is_restarted(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-cut").await?;
    for _ in 0..6 {
        trial.network.script.streams(|streams| streams.cuts += 1);
        sleep(Duration::from_secs(1)).await;
    }
    trial.recovers(PAUSE).await.map(drop)
}

pub(super) async fn watch_ended_by_410_restarts_with_a_list(env: &World) -> anyhow::Result<()> {
    let trial = in_the_middle(env, "network-410").await?;
    let lists = trial.network.script.count(Asked::Read);
    for _ in 0..4 {
        trial.network.script.streams(|streams| streams.expired += 1);
        sleep(Duration::from_secs(2)).await;
    }
    let lists = trial.network.script.count(Asked::Read) - lists;
    ensure!(lists >= 4, "only {lists} lists");
    trial.recovers(PAUSE).await.map(drop)
}

/// Four watches retry their list after about 1, 2, 4 and 8 seconds, or a little later, not once a second.
pub(super) async fn failing_list_is_retried_with_growing_pauses(env: &World) -> anyhow::Result<()> {
    const OUTAGE: Duration = Duration::from_secs(15);
    let trial = in_the_middle(env, "network-lists").await?;
    trial.inject(Rule {
        to: To::Only(Asked::Read),
        after: 0,
        times: u32::MAX,
        fault: Fault::Answer(503, 0),
    });
    let lists = trial.network.script.count(Asked::Read);
    trial.network.script.streams(|streams| streams.expired += 1);
    sleep(OUTAGE).await;
    let lists = trial.network.script.count(Asked::Read) - lists;
    println!("network-lists: {lists} lists in {OUTAGE:?}");
    ensure!((4..=24).contains(&lists), "{lists} lists\n{}", trial.ns.log());
    trial.recovers(PAUSE * 2).await.map(drop)
}

pub(super) async fn watch_without_bookmarks_resumes_where_it_ended(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin(env, "network-bookmarks").await?;
    trial.network.script.streams(|streams| streams.without_bookmarks = true);
    trial.roll_out().await?;
    for claims in 1..=3 {
        trial.until_asked(Asked::Claim, claims).await?;
        trial.network.script.streams(|streams| streams.cuts += 1);
    }
    trial.recovers(PAUSE).await.map(drop)
}

/// Writes pass at once, so the controller knows more than it sees.
pub(super) async fn late_events_only_slow_the_rollout_down(env: &World) -> anyhow::Result<()> {
    let trial = Trial::begin(env, "network-late").await?;
    trial
        .network
        .script
        .streams(|streams| streams.delay = Duration::from_secs(4));
    trial.roll_out().await?;
    trial.until_asked(Asked::Claim, 2).await?;
    trial.recovers(PAUSE).await.map(drop)
}
