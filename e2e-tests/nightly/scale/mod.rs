//! Many StatefulSets on a real control plane: the cost of a rollout compared with its writes alone, and the cost of an
//! idle controller. `make scale` runs these; they take minutes and need the machine for themselves.

mod bare_replacing;
mod bytes;
mod counted;
pub(crate) mod fleet;
mod idle;
mod in_motion;
mod namespaces;
mod raw;
mod replacing;
mod tenants;
mod unanswered;
mod written;

use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::world::installation::{Controller, USER};
use crate::world::{Cluster, Options, World, eventually};
pub(crate) use counted::{PATIENCE, Writes};
use fleet::Fleet;

/// The loop without a controller has no budget either. There is no policy: the test writes the staged changes.
const FLAGS: [&str; 4] = [
    "--leader-elect=false",
    "--kube-api-qps=10000",
    "--kube-api-burst=10000",
    "--allow-without-policy",
];
/// The maximum time of a rollout, relative to the same writes in the same order.
const MOST: f64 = 1.15;

/// 1,000 StatefulSets of one replica change at once, by the controller and by a plain loop of kube-rs in turn: the same
/// writes to the same objects, with the same concurrency and in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn thousand_sets_roll_as_fast_as_the_bare_writes() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let client = world.client.clone();
    let fleet = Fleet::create(&client, 1000, 10, 1).await?;
    println!("{} sets with {} claims are there", fleet.sets.len(), fleet.claims());

    let mut controller = world.controllers.start(&FLAGS).await?;
    let first = fleet.roll("2Gi").await?;
    // Others see a write a moment before its reply is counted.
    let counted = eventually("one staged change for each set to be counted", PATIENCE, async || {
        let (_, metrics) = controller.get("/metrics")?;
        let writes = Writes::read(&metrics)?;
        Ok((writes.changes >= fleet.sets.len()).then_some(writes))
    });
    let writes = counted.await?;
    controller.terminate().await?;
    println!("by the controller: {:.1} s; {writes:?}", first.as_secs_f64());
    ensure!(writes.claims == fleet.claims(), "one write for each claim: {writes:?}");

    let bare = raw::roll(&client, &fleet, "3Gi", &writes).await?;
    println!("by a bare loop: {:.1} s", bare.as_secs_f64());
    let mut controller = world.controllers.start(&FLAGS).await?;
    let second = fleet.roll("4Gi").await?;
    controller.terminate().await?;
    println!("by the controller again: {:.1} s", second.as_secs_f64());
    let ratio = (first + second).as_secs_f64() / 2.0 / bare.as_secs_f64();
    aim("controller : bare loop", ratio, MOST);
    world.stop().await
}

/// Prints whether an aim was reached. A busy machine misses it, so a miss is no error.
fn aim(what: &str, found: f64, most: f64) {
    let verdict = if found <= most { "reached" } else { "missed" };
    println!("{what}: {found:.2} (aim {most}, {verdict})");
}

/// The number of ClaimRollouts in this state, from the metrics of the controller.
fn rollouts(controller: &Controller, state: &str) -> anyhow::Result<usize> {
    let (_, metrics) = controller.get("/metrics")?;
    let name = format!("claim_rollout_rollouts{{state=\"{state}\"}} ");
    let number = metrics.lines().find_map(|line| line.strip_prefix(&name));
    Ok(number.context("no such state")?.parse()?)
}

/// Waits until the controller counts this many in this state.
pub(crate) async fn until_reported(
    patience: Duration,
    controller: &Controller,
    state: &str,
    number: usize,
) -> anyhow::Result<()> {
    let reported = eventually("every ClaimRollout to be counted", patience, async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Ok((rollouts(controller, state)? == number).then_some(()))
    });
    reported
        .await
        .with_context(|| format!("{:?} of {number} are {state}", rollouts(controller, state)))
}

/// The number of lists and watches of PVCs and Pods by the controllers.
async fn reads(cluster: &Cluster) -> anyhow::Result<usize> {
    // A watch is logged when it ends.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let requests = cluster.requests().await?;
    let ours = requests
        .iter()
        .filter(|entry| entry.user == USER && ["list", "watch"].contains(&entry.verb.as_str()));
    Ok(ours
        .filter(|entry| ["persistentvolumeclaims", "pods"].contains(&entry.resource.as_str()))
        .count())
}
