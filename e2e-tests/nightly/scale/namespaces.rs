//! The open connections of a controller in a cluster with many namespaces.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use claim_rollout::templates::Phase;

use super::fleet::Fleet;
use super::{FLAGS, PATIENCE, reads, rollouts, until_reported};
use crate::world::installation::{AS_IN_A_POD, Controller};
use crate::world::{Options, World, eventually};

/// The number of namespaces, with a StatefulSet in each.
const NAMESPACES: usize = 1000;
/// The most connections at a time.
const MOST: usize = 64;
/// The annotation that keeps a rollout in progress.
const PAUSED: &str = "claim-rollout.io/paused";

/// Waits until the controller leads and this many ClaimRollouts are in this state, and a while longer. Returns the
/// highest number of open connections.
async fn most_connections(controller: &Controller, state: &str) -> anyhow::Result<usize> {
    const A_WHILE: Duration = Duration::from_secs(10);
    let mut most = 0;
    let count = async {
        loop {
            // One socket is the listener, and one may be a connection of this test.
            most = most.max(controller.sockets()?.saturating_sub(2));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let until_quiet = async {
        eventually("all to be reconciled", PATIENCE, async || {
            Ok(is_quiet(controller, state)?.then_some(()))
        })
        .await?;
        tokio::time::sleep(A_WHILE).await;
        anyhow::Ok(())
    };
    let done: anyhow::Result<()> = tokio::select! {
        failed = count => failed,
        done = until_quiet => done,
    };
    done.with_context(|| format!("{:?} are {state}", rollouts(controller, state)))?;
    Ok(most)
}

/// True iff the controller leads, counts every StatefulSet in this state, and has reconciled each.
fn is_quiet(controller: &Controller, state: &str) -> anyhow::Result<bool> {
    let (_, metrics) = controller.get("/metrics")?;
    let looks = metrics
        .lines()
        .find_map(|line| line.strip_prefix("claim_rollout_reconcile_seconds_count "));
    let looks: usize = looks.context("no lookups")?.parse()?;
    Ok(looks >= NAMESPACES && rollouts(controller, state)? == NAMESPACES)
}

/// 1,000 namespaces with a rollout in progress, and then with a complete one; each time a start, and a failover.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn start_and_failover_with_1000_namespaces_few_connections() -> anyhow::Result<()> {
    let world = World::with(Options::default()).build().await?;
    let fleet = Fleet::create(&world.client, NAMESPACES, NAMESPACES, 0).await?;
    fleet.annotate(PAUSED, Some("true")).await?;
    fleet.stage("2Gi", Phase::RollingOut).await?;
    let flags = [&FLAGS[1..], &AS_IN_A_POD].concat();

    let mut worst = 0;
    let mut first = world.controllers.start(&flags).await?;
    for (state, expected) in [("Paused", None), ("Complete", Some(0))] {
        let before = reads(&world.cluster).await?;
        if state == "Complete" {
            first = world.controllers.start(&flags).await?;
        }
        let started = most_connections(&first, state).await?;
        let second = world.controllers.start(&flags).await?;
        first.kill()?;
        let taken_over = most_connections(&second, state).await?;
        worst = worst.max(started).max(taken_over);
        let resident = second.usage()?.resident_kib / 1024;
        first = second;
        if state == "Paused" {
            fleet.annotate(PAUSED, None).await?;
            until_reported(PATIENCE, &first, "Complete", NAMESPACES).await?;
        }
        first.kill()?;
        let read = reads(&world.cluster).await? - before;
        println!(
            "{NAMESPACES} namespaces, {state}: at most {started} connections after a start, {taken_over} after a failover; \
             {read} LISTs and WATCHes of PVCs and Pods; {resident} MB resident"
        );
        ensure!(
            expected.is_none_or(|expected| read == expected),
            "expected {expected:?} reads, but found {read}"
        );
    }
    ensure!(worst <= MOST, "expected at most {MOST} connections, but found {worst}");
    world.stop().await
}
