//! The cost of StatefulSets that need no action.

use std::time::{Duration, Instant};

use anyhow::ensure;
use claim_rollout::templates::Phase;

use super::fleet::Fleet;
use super::{FLAGS, PATIENCE, reads, until_reported};
use crate::world::installation::Controller;
use crate::world::{Cluster, Options, Usage, World};

/// The most memory of an idle controller, in MB.
const MOST_MB: f64 = 54.0;

/// 10,000 idle StatefulSets, half of them with complete rollouts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn ten_thousand_idle_sets_cost_little() -> anyhow::Result<()> {
    const FOR: Duration = Duration::from_secs(30);
    let world = World::with(Options::default()).build().await?;
    let mut fleet = Fleet::create(&world.client, 10_000, 100, 0).await?;
    let sets = fleet.sets.len();
    fleet.sets.truncate(sets / 2);
    fleet.stage("2Gi", Phase::Complete).await?;
    let mut controller = world.controllers.start(&FLAGS).await?;
    until_reported(PATIENCE, &controller, "Complete", sets / 2).await?;
    let peak = megabytes(controller.usage()?.peak_kib);
    println!("the controller that reported half of them: {peak:.0} MB at the peak");
    controller.terminate().await?;

    let before = reads(&world.cluster).await?;
    let begun = Instant::now();
    let mut controller = world.controllers.start(&FLAGS).await?;
    println!("{sets} idle sets: ready after {:.1} s", begun.elapsed().as_secs_f64());
    until_reported(PATIENCE, &controller, "Complete", sets / 2).await?;
    let usage = usages(&controller, &world.cluster)?;
    println!(
        "  {:.1} s of CPU since it was started; in {FOR:?} from now on:",
        usage[0].cpu.as_secs_f64()
    );
    tokio::time::sleep(FOR).await;
    compare(&controller, &world.cluster, usage)?;
    controller.terminate().await?;
    let after = reads(&world.cluster).await?;
    ensure!(
        after == before,
        "expected no LIST and no WATCH, but found {}",
        after - before
    );
    world.stop().await
}

/// The compared programs.
const NAMES: [&str; 2] = ["claim-rollout", "kube-controller-manager"];

/// The resources that each program has used until now.
fn usages(controller: &Controller, cluster: &Cluster) -> anyhow::Result<[Usage; 2]> {
    Ok([controller.usage()?, cluster.usage(NAMES[1])?])
}

/// Prints the resources that each program has used since. Fails if the controller needs more memory than its limit,
/// which does not depend on the speed of the machine.
fn compare(controller: &Controller, cluster: &Cluster, before: [Usage; 2]) -> anyhow::Result<()> {
    let after = usages(controller, cluster)?;
    for ((name, before), after) in NAMES.iter().zip(before).zip(after) {
        let cpu = after.cpu.saturating_sub(before.cpu).as_secs_f64();
        let (resident, peak) = (megabytes(after.resident_kib), megabytes(after.peak_kib));
        println!("  {name}: {cpu:.1} s of CPU, {resident:.0} MB resident, {peak:.0} MB at the peak");
    }
    let peak = megabytes(after[0].peak_kib);
    ensure!(peak <= MOST_MB, "expected at most {MOST_MB} MB, but found {peak:.0}");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "no process has so much memory")]
fn megabytes(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
