//! Many sets at once, on a real control plane: what a rollout costs beside the writes that it cannot do without, and what a
//! controller costs that has nothing to do. `make scale` runs these; they take minutes and want the machine for themselves.

mod fleet;
mod raw;

use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::cluster::{Cluster, Options, eventually};
use crate::installation::Controllers;
use fleet::Fleet;

/// The bare loop keeps to no budget either. No policy is there: the test writes what is staged.
const FLAGS: [&str; 4] = [
    "--leader-elect=false",
    "--kube-api-qps=10000",
    "--kube-api-burst=10000",
    "--allow-without-policy",
];
/// The most that a rollout may take, in the time that the same writes take in the same order.
const MOST: f64 = 1.3;
/// The most memory of a controller with nothing to do, in KiB.
const IDLE_KIB: u64 = 60 * 1024;
/// How long a set of processes may take for anything here.
const PATIENCE: Duration = Duration::from_secs(600);

/// 300 sets of three replicas are changed at once, by the controller and by a bare loop of kube-rs alternately: the same
/// writes to the same objects, with the same concurrency and in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn three_hundred_sets_roll_as_fast_as_the_bare_writes() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let controllers = Controllers::install(&cluster).await?;
    let client = cluster.client().await?;
    let fleet = Fleet::create(&client, 300, 3).await?;
    println!("{} sets with {} claims are there", fleet.sets.len(), fleet.claims());

    let mut controller = controllers.start(&FLAGS).await?;
    let before = [controller.usage()?, cluster.usage("kube-controller-manager")?];
    let first = fleet.roll("2Gi").await?;
    let after = [controller.usage()?, cluster.usage("kube-controller-manager")?];
    // A write is seen by others a moment before its reply is counted.
    let counted = eventually("as many records as sets to be counted", PATIENCE, async || {
        let (_, metrics) = controller.get("/metrics")?;
        let writes = Writes::read(&metrics)?;
        Ok((writes.records >= fleet.sets.len()).then_some(writes))
    });
    let writes = counted.await?;
    controller.terminate().await?;
    println!("by the controller: {:.1} s; {writes:?}", first.as_secs_f64());
    let names = ["claim-rollout", "kube-controller-manager"];
    for ((name, before), after) in names.iter().zip(before).zip(after) {
        let cpu = (after.cpu.saturating_sub(before.cpu)).as_secs_f64();
        println!(
            "  {name}: {:.1} s of CPU, {} MB resident",
            cpu,
            after.resident_kib / 1024
        );
    }
    ensure!(writes.claims == fleet.claims(), "one write for each claim: {writes:?}");

    let bare = raw::roll(&client, &fleet, "3Gi", &writes).await?;
    println!("by a bare loop: {:.1} s", bare.as_secs_f64());
    let mut controller = controllers.start(&FLAGS).await?;
    let second = fleet.roll("4Gi").await?;
    controller.terminate().await?;
    println!("by the controller again: {:.1} s", second.as_secs_f64());
    let ratio = (first + second).as_secs_f64() / 2.0 / bare.as_secs_f64();
    println!("controller : bare loop = {ratio:.2}");
    ensure!(ratio <= MOST, "expected at most {MOST}, but found {ratio:.2}");
    cluster.stop();
    Ok(())
}

/// 3,000 sets, one of which was rolled out before: the controller is small, and no claim and no Pod is watched.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make scale"]
async fn three_thousand_idle_sets_cost_little_and_nothing_but_sets_is_watched() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let controllers = Controllers::install(&cluster).await?;
    let client = cluster.client().await?;
    let fleet = Fleet::create(&client, 3000, 0).await?;
    let resources = ["persistentvolumeclaims", "pods", "statefulsets"];
    let before = watches(&client, resources).await?;
    let controller = controllers.start(&FLAGS).await?;
    fleet.roll_one("2Gi").await?;
    // A relist or a leak would show by then.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let after = watches(&client, resources).await?;
    let resident = controller.usage()?.resident_kib;
    println!("3,000 idle sets: {} MB resident", resident / 1024);
    let more: Vec<i64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    ensure!(
        more == [0, 0, 1],
        "expected one more watch, on sets, but found {more:?} of {resources:?}"
    );
    ensure!(
        resident < IDLE_KIB,
        "expected less than {IDLE_KIB} KiB, but found {resident}"
    );
    drop(controller);
    cluster.stop();
    Ok(())
}

/// How many writes the controller says that it made.
#[derive(Clone, Copy, Debug)]
struct Writes {
    claims: usize,
    records: usize,
    reports: usize,
    events: usize,
    revisions: usize,
}

impl Writes {
    fn read(metrics: &str) -> anyhow::Result<Self> {
        let count = |name: &str| {
            let lines = metrics.lines().filter(|line| line.starts_with(name));
            let numbers = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
            Some(numbers.sum::<usize>()).filter(|sum| *sum > 0)
        };
        let of = |what: &str| count(&format!("claim_rollout_{what}_total{{")).with_context(|| format!("no {what}"));
        Ok(Self {
            claims: of("claim_writes")?,
            records: of("record_writes")?,
            reports: of("report_writes")?,
            events: of("events")?,
            revisions: of("history_writes")?,
        })
    }
}

/// How many watches the API server serves on each of these.
async fn watches(client: &kube::Client, resources: [&str; 3]) -> anyhow::Result<[i64; 3]> {
    let request = axum::http::Request::get("/metrics").body(Vec::new())?;
    let metrics = client.request_text(request).await?;
    Ok(resources.map(|resource| {
        let wanted = format!("resource=\"{resource}\"");
        let lines = metrics.lines().filter(|line| {
            line.starts_with("apiserver_longrunning_requests{")
                && line.contains(&wanted)
                && line.contains("verb=\"WATCH\"")
        });
        let numbers = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        #[expect(clippy::cast_possible_truncation, reason = "a count")]
        let sum = numbers.sum::<f64>() as i64;
        sum
    }))
}
