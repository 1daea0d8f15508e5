//! The time for one large StatefulSet with several replicas in motion at the same time.

use std::time::Duration;

use anyhow::ensure;

use super::aim;
use super::fleet::Fleet;
use crate::world::{Options, World};

/// With the default budget of writes.
const FLAGS: [&str; 3] = ["--leader-elect=false", "--allow-without-policy", "--max-in-motion=10"];
const REPLICAS: u32 = 300;
const IN_MOTION: u32 = 10;
/// The time of the driver for each volume; the resizer waits for ten seconds.
const EXPANSION_MILLIS: u64 = 4000;
/// The maximum, relative to the time that the driver alone needs.
const MOST: f64 = 1.2;

/// 300 replicas, ten in motion at a time: little more than thirty times the time that the driver needs for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn ten_of_300_replicas_in_motion_take_little_over_driver_time() -> anyhow::Result<()> {
    let world = World::with(Options::expanding_in(EXPANSION_MILLIS)).build().await?;
    let fleet = Fleet::create(&world.client, 1, 1, REPLICAS).await?;
    let mut controller = world.controllers.start(&FLAGS).await?;
    let before = controller.usage()?;
    let took = fleet.roll("2Gi").await?;
    let after = controller.usage()?;
    controller.terminate().await?;
    let driver = Duration::from_millis(EXPANSION_MILLIS) * REPLICAS / IN_MOTION;
    println!(
        "{REPLICAS} replicas, {IN_MOTION} in motion: {:.1} s, of the driver alone {:.1} s; {:.1} s of CPU",
        took.as_secs_f64(),
        driver.as_secs_f64(),
        after.cpu.saturating_sub(before.cpu).as_secs_f64()
    );
    ensure!(took >= driver, "more than {IN_MOTION} were in motion");
    aim("controller : driver", took.as_secs_f64() / driver.as_secs_f64(), MOST);
    world.stop().await
}
